"""Check that the requested data sets are available, with remedies for missing ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.plan import protocol_of, suite_of
from lockstep_bench.bench.experiment.request import InvalidRequest, Request


@dataclass(frozen=True)
class Missing:
    """An unavailable data set, with the reason and a remedy.

    Attributes:
        dataset: name of the data set.
        reason: why it is not available.
        remedy: what a person can do about it.
        no_connection: part of `reason` that says which server could not be reached, and why; "" for other reasons.
    """

    dataset: str
    reason: str
    remedy: str
    no_connection: str = ""


def check_data_folder(data_dir: Path | None) -> None:
    """Raise InvalidRequest if the data folder, given as an option or set by BENCH_DATA_DIR, cannot be a folder."""
    try:
        datasets.data_dir(data_dir)
    except datasets.InvalidFolder as problem:
        raise InvalidRequest(str(problem)) from None


def broken_datasets() -> list[Missing]:
    """Return the data sets of installed packages that cannot be used because their code fails."""
    return [Missing(problem.name, problem.reason, problem.remedy) for problem in datasets.problems()]


def have(names: Sequence[str], data_dir: Path | None, fetch: bool) -> tuple[list[str], list[Missing]]:
    """Return which data sets, or pretrained weights, are available, and which are not.

    With `fetch`, missing ones are downloaded first.
    """
    available, missing = [], []
    out_of_reach: dict[str, str] = {}
    for name in names:
        state, reason, remedy = datasets.availability(name, data_dir, deep=True)
        no_connection = ""
        if state in ("missing", "damaged") and fetch:
            server = urlsplit(datasets.published(name).base_url).hostname or ""
            try:
                if server in out_of_reach:
                    raise datasets.Unreachable(name, out_of_reach[server], remedy)
                datasets.fetch(name, data_dir, progress=True)
                state = "ready"
            except datasets.Unavailable as problem:
                if isinstance(problem, datasets.Unreachable):
                    out_of_reach[server] = no_connection = problem.reason
                reason = f"{reason}; {problem.reason}"
        if state == "ready":
            available.append(name)
        else:
            missing.append(Missing(name, reason, remedy, no_connection))
    return available, missing


def outsiders(names: Sequence[str]) -> tuple[str, ...]:
    """Return the further data sets on which models of these data sets are tested.

    They are OOD data sets, and data sets with the same classes.
    """
    groups = [group for name in names for group in datasets.entry(name).ood_groups.values()]
    groups += [(other,) for name in names if (other := datasets.partner(name))]
    return tuple(dict.fromkeys(name for group in groups for name in group if name not in names))


def runnable(
    request: Request, names: Sequence[str], data_dir: Path | None = None, fetch: bool = False
) -> tuple[list[str], list[Missing]]:
    """Return which of the available data sets can be run, and what the others lack, such as pretrained weights.

    Args:
        request: the user's request.
        names: names of the available data sets.
        data_dir: data folder; None for the default.
        fetch: whether to download pretrained weights that networks start from.
    """
    _, protocol = protocol_of(request)
    if protocol.weights and names:
        _, unavailable = have([protocol.weights], data_dir, fetch)
        for weights in unavailable:
            reason = f"its network starts from the weights {weights.dataset}: {weights.reason}"
            return [], [Missing(name, reason, weights.remedy) for name in names]
    lacks = suite_of(request).kind.lacks
    missing = [Missing(name, *lack) for name in names if (lack := lacks(name))]
    return [name for name in names if name not in {unavailable.dataset for unavailable in missing}], missing
