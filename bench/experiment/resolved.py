"""Resolution of requests: the cells to run, and the data sets and methods that are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep_bench import datasets
from lockstep_bench.bench.experiment import plan
from lockstep_bench.bench.experiment.answers import answer
from lockstep_bench.bench.experiment.available import (
    Missing,
    broken_datasets,
    check_data_folder,
    have,
    outsiders,
    runnable,
)
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.hparam_checks import fixed_hparams
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.shared.protocol import VECTORS

FEW_FOLDS = 10  # every split of a table has as many training rows


@dataclass(frozen=True)
class Resolved:
    """The cells of some requests, and the data sets and methods that are left out.

    Attributes:
        cells: the cells, those with most work first; a cell is one method on one split of a data set.
        missing: data sets that are not available.
        broken: third-party methods that cannot be loaded, name -> reason.
        without: pairs (method, data set) that cannot be run, with the reason.
        given: hyper-parameters that the user fixes, by method.
    """

    cells: Sequence[Cell]
    missing: Sequence[Missing]
    broken: Mapping[str, str]
    without: Mapping[tuple[str, str], str]
    given: Mapping[str, Mapping[str, float]]


def resolve(requests: Sequence[Request], data_dir: Path | None, fetch: bool) -> Resolved:
    """Return the cells of requests. All requests are checked before anything is downloaded.

    Args:
        requests: the requests, at least one.
        data_dir: data folder; None for the default.
        fetch: whether to download missing data sets.

    Raises:
        request.InvalidRequest: a request cannot be met, or the data folder cannot be a folder.
    """
    check_data_folder(data_dir)
    checked = [_checked(request) for request in requests]
    needed = tuple(dict.fromkeys(name for _, _, splits in checked for name in splits))
    here, absent = have(needed, data_dir, fetch)
    cells: dict[str, Cell] = {}
    missing = {each.dataset: each for each in absent}
    without: dict[tuple[str, str], str] = {}
    others: dict[str, None] = {}
    for request, (usable, _, splits) in zip(requests, checked, strict=True):
        available, lacking = runnable(request, [name for name in splits if name in here], data_dir, fetch)
        missing |= {each.dataset: each for each in lacking}
        others |= dict.fromkeys(outsiders(available))
        excluded = answer(plan.excluded, request, available, usable)
        chosen = {name: splits[name] for name in available}
        _check_rows_of_folds(request, chosen, data_dir)
        cells |= {cell.key: cell for cell in plan.cells(request, chosen, usable, excluded)}
        without |= excluded
    _, absent = have([name for name in others if name not in needed], data_dir, fetch)
    return Resolved(
        cells=_most_work_first(list(cells.values())),
        missing=[*missing.values(), *absent, *broken_datasets()],
        broken={name: problem for _, broken, _ in checked for name, problem in broken.items()},
        without=without,
        # The protocols of several requests differ in what they fix, and their descriptions have it.
        given=fixed_hparams(requests[0], needed, checked[0][0]) if len(requests) == 1 else {},
    )


def _most_work_first(cells: list[Cell]) -> list[Cell]:
    """Return the cells, those with most work first; the amount does not depend on method and split."""
    one_of_each = {(cell.dataset, cell.protocol.hash): cell for cell in cells}
    work = {key: cell.work for key, cell in one_of_each.items()}
    return sorted(cells, key=lambda cell: -work[cell.dataset, cell.protocol.hash])


def _check_rows_of_folds(request: Request, splits: Mapping[str, Sequence[int]], data_dir: Path | None) -> None:
    """Raise InvalidRequest for more folds than a split has training rows."""
    _, protocol = plan.protocol_of(request)
    if plan.suite_of(request).kind.data != VECTORS or protocol.folds <= FEW_FOLDS:
        return
    for name, numbers in splits.items():
        try:
            loaded = datasets.load(name, data_dir)
        except (datasets.BrokenDataset, datasets.Unavailable):
            continue  # the set's cells will say so
        n_train, split = min((len(loaded.splits[number].train), number) for number in numbers)
        if protocol.folds > n_train:
            raise InvalidRequest(
                f"folds is {protocol.folds}, and split {split} of {name} has {n_train} training rows; a fold needs at "
                f"least one, so give at most {n_train} folds"
            )


def _checked(request: Request) -> tuple[tuple[str, ...], Mapping[str, str], Mapping[str, tuple[int, ...]]]:
    """Return the methods of a request, those that cannot be loaded, and the splits of each data set that has any."""
    plan.check_schedule(request)
    usable, broken = answer(plan.chosen_methods, request)
    names = plan.chosen_datasets(request)
    plan.check_folds(request, names)
    splits = plan.chosen_splits(request, names)
    fixed_hparams(request, tuple(splits), usable)
    return usable, broken, {name: numbers for name, numbers in splits.items() if numbers}
