"""Stored facts about data sets (`audited.tsv`, from `python -m datasets audit`), and the rule that excludes data sets.

A data set that is flagged by this rule is excluded from rankings.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

FEWEST_ROWS = 100
MOST_COPIES = 25.0  # percent of a split's test rows
REPAIRED_FROM = 1.0  # percent of a split's test rows


HEADINGS = (
    *("set", "rows", "inputs", "repeated %", "copied %", "other target %"),
    *("targets", "constant", "equal", "linear R2", "target sd"),
)


class Facts(NamedTuple):
    """Facts about the rows and splits of a regression data set. Rows are equal if all inputs and the target are equal.

    Attributes:
        dataset: name of the data set.
        data_sha256: SHA-256 of the data set's values (`Dataset.data_sha256`).
        rows: number of rows.
        inputs: number of inputs.
        repeated: percentage of rows that are equal to another row.
        copies: percentage of test rows that are equal to a training row, mean over splits.
        most_copies: percentage of test rows that are equal to a training row, on the split with the highest percentage.
        other_target: percentage of test rows whose inputs are equal to those of a training row, but whose target is
            not; mean over splits.
        targets: number of distinct targets.
        constant: number of constant inputs.
        equal: number of pairs of equal inputs, constant ones included.
        linear_r2: R^2 of a linear regression that is fitted to and scored on all rows.
        target_sd: standard deviation of the targets.
    """

    dataset: str
    data_sha256: str
    rows: int
    inputs: int
    repeated: float
    copies: float
    most_copies: float
    other_target: float
    targets: int
    constant: int
    equal: int
    linear_r2: float
    target_sd: float


def flag(facts: Facts) -> str:
    """Return why a data set is excluded from rankings; "" if it is not excluded.

    A data set is excluded if it has fewer than `FEWEST_ROWS` rows, or if on some split more than `MOST_COPIES` percent
    of the test rows are equal to a training row.
    """
    if facts.rows < FEWEST_ROWS:
        return f"fewer than {FEWEST_ROWS} rows in the set"
    if facts.most_copies > MOST_COPIES:
        return "copies of training rows in more than a quarter of a test part of the set"
    return ""


def in_words(facts: Facts) -> list[str]:
    """Return the facts as texts for a table, one for each of `HEADINGS`."""
    copies = f"{facts.copies:.1f} (at most {facts.most_copies:.1f})" if facts.most_copies else "0"
    percentages = (f"{facts.repeated:.1f}", copies, f"{facts.other_target:.1f}")
    counts = (facts.targets, facts.constant, facts.equal)
    return [
        *map(str, (facts.dataset, facts.rows, facts.inputs)),
        *percentages,
        *map(str, counts),
        f"{facts.linear_r2:.3f}",
        f"{facts.target_sd:.3g}",
    ]


def to_lines(table: list[Facts]) -> list[str]:
    """Return the lines of the file `audited.tsv`, the header first; percentages and R^2 have four decimals."""
    rows = [[f"{value:.4f}" if type(value) is float else str(value) for value in facts[:-1]] for facts in table]
    sds = [f"{facts.target_sd:.6g}" for facts in table]
    return ["\t".join(Facts._fields), *("\t".join([*row, sd]) for row, sd in zip(rows, sds, strict=True))]


@cache
def kept() -> dict[str, Facts]:
    """Return the facts that `audited.tsv` stores, by data set."""
    lines = Path(__file__).with_name("audited.tsv").read_text(encoding="utf-8").splitlines()[1:]
    kinds = Facts.__annotations__.values()
    rows = [Facts(*(kind(text) for kind, text in zip(kinds, line.split("\t"), strict=True))) for line in lines]
    return {facts.dataset: facts for facts in rows}
