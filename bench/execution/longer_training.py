"""Repetition of some cells with longer training, by the option `--longer`.

For each method and data set, the first split with the status "ok" is trained again with its tuned hyper-parameters. It
is trained twice: for the original number of epochs, and for `factor` times as many. Both trainings use the same seeds.
They are validated on the folds of the search and scored on the test part. The difference between them is the gain of
longer training. (The validation score of the search itself is no baseline, because it is the best of many trials and
therefore biased.) Limits of minibatches and updates, and milestones of the learning rate, are multiplied by `factor`
too. Methods stretch their own schedules, such as a burn-in, with the length of training. The results are stored in a
separate folder and appear in no leaderboard.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.methods import is_ranked
from lockstep_bench.shared.given_hparams import GivenHParam, GivenHParams
from lockstep_bench.shared.protocol import Protocol

Group = tuple[str, str, str, str, str]  # suite, data set, method, preset, hash of the protocol
KEPT = ("ok", "diverged")  # statuses that a repetition would have again


@dataclass(frozen=True)
class Training:
    """One of the two trainings that repeat a cell.

    Attributes:
        of: The original cell.
        factor: Length of this training relative to the original; 1 for the baseline.
        cell: The cell to run, whose protocol is `factor` times as long.
    """

    of: Cell
    factor: int
    cell: Cell


def sampled(results: Results, cells: Iterable[Cell]) -> dict[Cell, str]:
    """Return one finished cell for each method, data set and protocol, with its tuned hyper-parameters as JSON.

    Left out are estimators of streams, which have no epochs, and the baseline `constant`, which is not trained.

    Args:
        results: The folder.
        cells: Cells of the run.
    """
    rows = results.rows()
    finished = rows[(rows["status"] == "ok") & rows["hparams"].notna()]
    names = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]
    hparams = dict(zip(finished[names].itertuples(index=False, name=None), finished["hparams"], strict=True))
    chosen: dict[Group, tuple[Cell, str]] = {}
    for cell in _trainable(cells):
        if (key := (*_group(cell), cell.split, cell.seed)) in hparams:
            chosen.setdefault(_group(cell), (cell, hparams[key]))
    return dict(chosen.values())


def due(results: Results, cells: Iterable[Cell], factor: int) -> list[Training]:
    """Return the trainings whose results are not in the folder yet.

    Args:
        results: The folder.
        cells: Cells of the run.
        factor: Length of the longer training relative to the original.
    """
    return [
        Training(cell, times, _trained(cell, times, json.loads(hparams)))
        for cell, hparams in sampled(results, cells).items()
        for times in (1, factor)
        if not results.has_longer(cell, times)
    ]


def planned(results: Results, cells: Iterable[Cell], factor: int) -> list[Cell]:
    """Return a cell for each method, data set and protocol that must be trained again after the run's cells."""
    present = {_group(cell) for cell in sampled(results, cells)}
    present -= {_group(training.of) for training in due(results, cells, factor)}
    first = {_group(cell): cell for cell in reversed(_trainable(cells))}
    return [cell for group, cell in first.items() if group not in present]


def stretched(protocol: Protocol, factor: int, hparams: Mapping[str, float]) -> Protocol:
    """Return a protocol with fixed hyper-parameters and `factor` times as much training."""
    given = [GivenHParam(None, name, value) for name, value in hparams.items()]
    milestones = [str(factor * epoch) for epoch in protocol.milestone_epochs]
    return protocol.changed(
        trials=1,
        hparams=GivenHParams.of(given) if given else None,
        epochs=factor * protocol.epochs,
        max_minibatches=protocol.max_minibatches and factor * protocol.max_minibatches,
        max_updates=protocol.max_updates and factor * protocol.max_updates,
        milestones=",".join(milestones) or None,
    )


class LongerTrainings:
    """Stores the results of the option `--longer` (cells that are trained again for longer) in the results folder.

    Args:
        results: The results folder.
        trainings: All these trainings.

    Attributes:
        failed: The status of each failed training, by the original cell. Failed trainings are not stored.
    """

    def __init__(self, results: Results, trainings: Iterable[Training]):
        self._results = results
        self._by_cell: dict[Cell, list[Training]] = {}
        for training in trainings:
            self._by_cell.setdefault(training.cell, []).append(training)
        self.failed: dict[Cell, str] = {}

    def write(self, result: CellResult) -> None:
        """Store the result of a training, or note its status if it failed."""
        for training in self._by_cell[result.cell]:
            if result.status in KEPT:
                self._results.write_longer(training.of, training.factor, result)
            else:
                self.failed[training.of] = result.status


def _group(cell: Cell) -> Group:
    return cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash


def _trainable(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with an NMLL whose method trains for a number of epochs, in the order of their splits."""
    trained = [cell for cell in cells if "nmll" in SUITES[cell.suite].headline and is_ranked(cell.method)]
    return sorted(trained, key=lambda cell: (cell.split, cell.seed))


def _trained(cell: Cell, factor: int, hparams: Mapping[str, float]) -> Cell:
    protocol = stretched(cell.protocol, factor, hparams)
    return Cell(cell.suite, cell.dataset, cell.method, cell.split, cell.preset, protocol, cell.seed)
