"""Details behind a number on a page: splits, hyper-parameters, provenance, errors, and a command to run it again."""

from collections.abc import Iterable, Mapping
from math import isinf, isnan
from typing import Any, NamedTuple

from lockstep_bench.leaderboards.data.frames import as_object
from lockstep_bench.leaderboards.data.longer import LongerTraining
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.wording import run_facts
from lockstep_bench.leaderboards.wording.commands import command
from lockstep_bench.shared.schema import EXECUTIONS

Row = dict[str, Any]  # columns of `shared.schema.CELLS`

# Columns of `Row` that the details use, besides metrics.
COLUMNS = (
    *(
        "folder",
        "suite",
        "dataset",
        "method",
        "split",
        "seed",
        "preset",
        "protocol",
        "protocol_hash",
        "status",
        "error",
        "log",
    ),
    *("n_trials", "n_trials_failed", "hparams", "search_space", "diagnostics", "reference"),
    *("code_revision", "code_dirty", "rechecked", "execution"),
    *("data_sha256", "versions", "device", "host", "finished_at"),
)
# Those that tell how a cell was tuned and trained, with those that name its files.
TRAINED = (
    *("folder", "suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"),
    *("status", "n_trials", "hparams", "search_space"),
)
DIGITS = 4  # significant digits of a split's numbers


class SplitDetails(NamedTuple):
    """One result row as printed. `flag` is the reason why its split is not ranked, or empty."""

    split: int
    flag: str
    seed: int
    status: str
    values: list[str]  # of the metrics, then of the hyper-parameters


class Command(NamedTuple):
    """The shell command that runs some of the splits again, and the code revision that they were run with."""

    splits: str
    revision: str
    text: str


class CellDetails(NamedTuple):
    """The results of one method on one data set under one preset, as printed.

    Attributes:
        method: name of the method.
        n: number of results that finished.
        n_failed: number of results that did not finish.
        metrics: headings of the metrics in `splits`.
        hparams: headings of the hyper-parameters in `splits`.
        splits: one entry per result.
        several_seeds: whether the results have different seeds.
        commands: commands that run the splits again.
        facts: provenance, by name.
        errors: tuples (splits in words, status, error message), one for each distinct error.
    """

    method: str
    n: int
    n_failed: int
    metrics: list[str]
    hparams: list[str]
    splits: list[SplitDetails]
    several_seeds: bool
    commands: list[Command]
    facts: dict[str, str]
    errors: list[tuple[str, str, str]]


def cell_details(
    rows: list[Row],
    names: list[str],
    flagged: Mapping[int, str],
    original: str | None = None,
    longer: Iterable[LongerTraining] = (),
) -> CellDetails:
    """Return the details of the results of one method on one data set under one preset.

    Rows are dictionaries instead of data frames, because pandas is slow on hundreds of small frames.

    Args:
        rows: result rows, in the order of their splits.
        names: names of the metrics to show.
        flagged: numbers of the splits that are not ranked -> reason.
        original: protocol of the unmodified preset, as JSON; None if unknown.
        longer: results of longer training of the same cells.
    """
    names = [name for name in names if any(not isnan(row[name]) for row in rows)]
    chosen = [as_object(row["hparams"]) for row in rows]
    hparams = list(dict.fromkeys(name for setting in chosen for name in setting))
    splits = [
        SplitDetails(
            row["split"],
            flagged.get(row["split"], ""),
            row["seed"],
            row["status"],
            [*(printed(row[name]) for name in names), *(_value(setting.get(name)) for name in hparams)],
        )
        for row, setting in zip(rows, chosen, strict=True)
    ]
    n_failed = sum(row["status"] != "ok" for row in rows)
    return CellDetails(
        rows[0]["method"],
        len(rows) - n_failed,
        n_failed,
        [metric(name).title for name in names],
        hparams,
        splits,
        len({row["seed"] for row in rows}) > 1,
        _commands(rows, original),
        _facts(rows) | _longer(longer),
        _errors(rows),
    )


def printed(value: float) -> str:
    """Return a number with four significant digits, or a dash for NaN."""
    if isnan(value):
        return "–"
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:#.{DIGITS}g}".rstrip(".").replace("-", "−") if abs(value) < 1e5 else f"{value:.3g}"


def _value(value: object) -> str:
    return printed(value) if isinstance(value, float) else "–" if value is None else str(value)


def _commands(rows: list[Row], original: str | None) -> list[Command]:
    """Return a command for each code revision, protocol and seed among the rows."""
    first = rows[0]
    commands = []
    for (revision, preset, protocol, seed), part in _grouped(rows, "code_revision", "preset", "protocol", "seed"):
        numbers = sorted({row["split"] for row in part})
        text = command(first["suite"], first["dataset"], first["method"], numbers, preset, protocol, seed, original)
        commands.append(Command(run_facts.ranges(numbers), revision, text))
    return commands


def _grouped(rows: list[Row], *columns: str) -> Iterable[tuple[tuple[Any, ...], list[Row]]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups.items()


def _facts(rows: list[Row]) -> dict[str, str]:
    """Return the provenance of the rows by name; values that differ between splits are listed."""
    dates = sorted({str(row["finished_at"].date()) for row in rows})
    facts = {
        "Protocol": "; ".join(run_facts.protocol_in_words(text) for text in _distinct(rows, "protocol")),
        "Protocol hash": ", ".join(_distinct(rows, "protocol_hash")),
        "Code": ", ".join(run_facts.revision(*pair) for pair, _ in _grouped(rows, "code_revision", "code_dirty")),
        "Recheck": "; ".join(f"cells drawn at random agreed on {text}" for text in _distinct(rows, "rechecked")),
        "Data, SHA-256": ", ".join(text[:16] for text in _distinct(rows, "data_sha256")),
        "Training": "; ".join(_ways_of_training(rows)),
        "Device": ", ".join(_distinct(rows, "device")),
        "Host": ", ".join(_distinct(rows, "host")),
        "Versions": run_facts.versions(tuple(_distinct(rows, "versions"))),
        "Finished": dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
    }
    trials = sorted({int(row["n_trials"]) for row in rows if not isnan(row["n_trials"])})
    if any(trials):
        failed = sum(int(row["n_trials_failed"]) for row in rows if not isnan(row["n_trials_failed"]))
        facts["Trials"] = ", ".join(map(str, trials)) + (f", {failed} failed in all" if failed else "")
    diagnostics = [as_object(row["diagnostics"]) for row in rows]
    facts |= {
        name.replace("_", " "): _range(diagnostics, name)
        for name in dict.fromkeys(name for values in diagnostics for name in values)
    }
    references = [as_object(row["reference"]) for row in rows]
    facts |= {
        "Reference posterior": ", ".join(
            dict.fromkeys(str(values["kind"]) for values in references if "kind" in values)
        ),
        "R-hat of the reference": _range(references, "r_hat"),
        "Samplers of the reference": ", ".join(
            dict.fromkeys(str(values["samplers"]) for values in references if "samplers" in values)
        ),
        "Relative covariance distance due to the reference's own sampling noise": _range(references, "rel_cov_noise"),
    }
    return {name: value for name, value in facts.items() if value}


def _ways_of_training(rows: list[Row]) -> list[str]:
    ways = [EXECUTIONS.get(name, name) for name in _distinct(rows, "execution")]
    earlier = any(row["status"] == "ok" and not isinstance(row["execution"], str) for row in rows)
    return [*ways, *(["before training loops were compiled"] if earlier else [])]


def _range(objects: list[dict[str, Any]], name: str) -> str:
    """Return the range of a number over objects, as printed; "" if none has it."""
    numbers = [values[name] for values in objects if isinstance(values.get(name), int | float)]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return printed(low) + ("" if low == high else f" to {printed(high)}")


def _longer(trainings: Iterable[LongerTraining]) -> dict[str, str]:
    """Return texts on the gain of longer training, by the factor of the length."""
    said: dict[str, list[str]] = {}
    for training in trainings:
        scores = (training.nmll, training.nmll_longer, training.validation_nmll, training.validation_nmll_longer)
        before, after, validation, validation_after = map(printed, scores)
        said.setdefault(f"Trained {training.factor} times as long", []).append(
            f"split {training.split}, NMLL {before} to {after}, on validation rows {validation} to {validation_after}"
        )
    return {name: "; ".join(parts) for name, parts in said.items()}


def _distinct(rows: list[Row], column: str) -> list[str]:
    return sorted({row[column] for row in rows if isinstance(row[column], str)})


def _errors(rows: list[Row]) -> list[tuple[str, str, str]]:
    bad = [row for row in rows if row["status"] != "ok"]
    errors = []
    for (status, error, log), part in _grouped(bad, "status", "error", "log"):
        splits = sorted({row["split"] for row in part})
        label = f"{'split' if len(splits) == 1 else 'splits'} {run_facts.ranges(splits)}"
        text = error if isinstance(error, str) else "no error text"
        errors.append((label, status, f"{text}\n\nLast lines of the log:\n{log}" if isinstance(log, str) else text))
    return errors
