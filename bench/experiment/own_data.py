"""Registration of a user's own table (option `--csv`) before a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.datasets.own.files import looks_like_a_table

SUITE = "own"
PAGE = "docs/your-own-data.md"


class Given(NamedTuple):
    """Command-line options about a user's own table; None for options that are left out.

    Attributes:
        csv: file of the table.
        target: column that is predicted.
        task: "regression" or "classification".
        decimal, thousands, na_values: see `datasets.describe`.
        no_header: True if the first line is a row of data.
        impute: "median" to fill missing values.
        splits_file: file of the splits.
    """

    csv: Path | None = None
    target: str | None = None
    task: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na_values: str | None = None
    no_header: bool | None = None
    impute: str | None = None
    splits_file: Path | None = None


def register(
    given: Given, suite: str, names: Sequence[str] | None, on_cluster: bool
) -> tuple[datasets.Table, tuple[str, ...]] | None:
    """Register the table of `--csv` for this process and its worker processes.

    Args:
        given: the options about the table.
        suite: suite that the user asks for.
        names: data sets that the user asks for.
        on_cluster: whether other machines run the jobs.

    Returns:
        The description of the table, and warnings about it; None without `--csv`.

    Raises:
        InvalidRequest: the table cannot be used, or options contradict each other.
    """
    if given.csv is None:
        _refuse_without_csv(given, suite, names)
        return None
    if given.target is None:
        raise InvalidRequest(f"--csv {given.csv} needs --target COLUMN, the column that is predicted; see {PAGE}")
    if names is not None:
        raise InvalidRequest(f"--csv {given.csv} is the run's data set; leave --datasets {','.join(names)} out")
    if suite not in ("uci", SUITE):  # "uci" is the default
        raise InvalidRequest(f"--csv {given.csv} runs in the suite {SUITE}; leave --suite {suite} out")
    if on_cluster:
        raise InvalidRequest(
            f"the machines of a cluster do not have {given.csv}; make a package of it with `python -m datasets new "
            f"NAME --csv {given.csv} --target {given.target}`, install it on all of them, and run --suite {SUITE}"
        )
    try:
        options = given._asdict() | {"no_header": bool(given.no_header)}
        table, warnings = datasets.describe(options.pop("csv"), **options, taken=datasets.names())
    except datasets.InvalidTable as problem:
        raise InvalidRequest(str(problem)) from None
    datasets.add(table)
    return table, warnings


def _refuse_without_csv(given: Given, suite: str, names: Sequence[str] | None) -> None:
    """Raise InvalidRequest for options that need `--csv`, a file given as a data set, or an empty suite `own`."""
    for field, value in given._asdict().items():
        if value is not None:
            option = f"--{field.replace('_', '-')}" + ("" if value is True else f" {value}")
            raise InvalidRequest(f"{option} is an option for a table of your own; add --csv FILE")
    if suite == SUITE and not SUITES[SUITE].datasets():
        raise InvalidRequest(
            f"the suite {SUITE} has no data set yet; run one with --csv FILE --target COLUMN, see {PAGE}"
        )
    known = datasets.names()
    for name in names or ():
        if name not in known and looks_like_a_table(name):
            raise InvalidRequest(
                f"--datasets takes names, and {name!r} is a file; run it with --csv {name} --target COLUMN, see {PAGE}"
            )
