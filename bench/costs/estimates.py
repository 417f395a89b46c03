"""Estimates of the time and memory of jobs, from earlier results on this host or from probes (short trial runs)."""

from collections import Counter
from collections.abc import Sequence
from math import fsum
from typing import NamedTuple, cast

import pandas as pd

from lockstep_bench import datasets
from lockstep_bench.bench.costs.batching import ASSUMED, MIB, ROOM, Need, rows_of
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

BUDGET, EARLIER, SCALED, PROBED, RELATED, GUESSED = BASES = (
    "budget",  # the protocol says how long a cell takes
    "earlier runs",  # of jobs with as many cells, which are equal but for their split
    "earlier runs, scaled",  # of the method on this data set, in proportion to the work
    "probe",  # short trainings of the cell
    "other data sets",  # earlier runs or a probe there, in proportion to the work
    "unknown",
)
# Estimates that order jobs and are not shown. Scaled from the set of uci with the most features, those of the rows in
# leaderboards/results were 0.1 to 55 times the truth. Scaled from `quick` to `tuned`, that of MAP on boston was 23
# times the truth.
UNSURE = frozenset({SCALED, RELATED, GUESSED})
SECONDS_PER_WORK = 3e-5  # orders jobs of unknown time: median of the 1,908 cells of uci in leaderboards/results


class CostEstimate(NamedTuple):
    """Estimated time and memory of a job.

    Attributes:
        seconds: duration. If `basis` is one of `UNSURE`, it is a rough guess, which orders jobs but is not shown.
        bytes: peak memory; None if it was never measured.
        basis: what the duration is estimated from, one of `BASES`.
    """

    seconds: float
    bytes: int | None
    basis: str


class Estimates:
    """Estimated time and memory of the cells of a run.

    Args:
        wanted: cells of the run. For each method, the cell with the most features is probed first. The estimates of
            cells that are not probed are scaled from it.
        rows: earlier results (`Results.rows`).
        calibrations: stored probes for the kind of worker that the run uses.
        host, device: names of this machine and of the device; earlier results from others are ignored.
    """

    def __init__(self, wanted: Sequence[Cell], rows: pd.DataFrame, calibrations: Calibrations, host: str, device: str):
        self._calibrations = calibrations
        self._kept: dict[tuple[str, str, str, str], Cost | None] = {}  # by what cells of a job have in common
        self._work: dict[tuple[str, str], float] = {}  # of a cell, by data set and protocol
        features = {name: datasets.entry(name).n_features for name in {cell.dataset for cell in wanted}}
        by_width = sorted(wanted, key=lambda cell: features[cell.dataset])
        self._widest = {(cell.suite, cell.method): cell for cell in by_width}
        first = [*self._widest.values(), *reversed(by_width)]
        self._sorts = {_sort(cell): cell for cell in first}
        self._counts = Counter(map(_sort, wanted))
        rows = rows[(rows["host"] == host) & (rows["device"] == device)]
        rows = rows.assign(seconds=seconds_of(rows)).dropna(subset="seconds")
        columns = ["suite", "method", "dataset", "protocol_hash"]
        groups = rows.groupby(columns)
        self._peaks = groups["peak_memory_mib"].max().dropna().to_dict()
        self._earlier = rows.assign(cells=cells_of_jobs(rows)).groupby([*columns, "cells"])["seconds"].mean().to_dict()
        self._rates: dict[tuple[str, ...], list[float]] = {}  # seconds per work: under a protocol, on data, anywhere
        protocols = groups["protocol"].first().to_dict()
        # pandas types the keys of a grouped series as any hashable objects.
        means = cast("dict[tuple[str, str, str, str], float]", groups["seconds"].mean().to_dict())
        for key, seconds in means.items():
            if work := _work(*key[:3], protocols[key]):
                for part in (key, key[:3], key[:2]):
                    self._rates.setdefault(part, []).append(seconds / work)

    def of(self, cells: Sequence[Cell], rows: int) -> CostEstimate:
        """Return the estimated time and memory of a job.

        Args:
            cells: the job's cells, which differ only in their split.
            rows: largest number of replicas in a stack.
        """
        first, count = cells[0], len(cells)
        key = _sort(first)
        if key[2:] not in self._work:
            self._work[key[2:]] = first.work
        work = self._work[key[2:]]
        probed, peak = self._probed(first), self._peaks.get(key)
        memory = int(peak * MIB) if peak else None
        if probed and not peak:
            memory = probed.need.bytes_with(max(1, min(rows, rows_of(first) * count)))
        if budget := first.protocol.budget_seconds:
            return CostEstimate(float(budget * count), memory, BUDGET)
        if earlier := self._earlier.get((*key, count)):
            return CostEstimate(earlier * count, memory, EARLIER)
        if measured := self._measured(first):
            return CostEstimate(measured.seconds_of(work, count), memory, PROBED)
        if rate := self._rate(key) or self._rate(key[:3]):
            return CostEstimate(rate * (work * count), memory, SCALED)
        if rate := self._rate(key[:2]):
            return CostEstimate(rate * (work * count), memory, RELATED)
        if probed:
            return CostEstimate(probed.seconds_of(work, count), memory, RELATED)
        return CostEstimate(SECONDS_PER_WORK * (work * count), memory, GUESSED)

    def need(self, cell: Cell) -> Need:
        """Return the memory of a job of such cells, from a probe of this cell or of the cell with the most features.

        Without a probe, `ASSUMED` is returned.
        """
        probed = self._probed(cell)
        return probed.need if probed else ASSUMED

    def worth_probing(self, memory: bool = False) -> list[Cell]:
        """Return the cells to probe: one for each method and data set without earlier jobs of as many cells.

        Those with most features come first.

        Args:
            memory: True to probe one cell of each method instead, even if there are earlier results. Those hold only
                the peak memory of a job, not the memory for each fit.
        """
        sorts = self._sorts.items()
        unknown = [
            cell
            for sort, cell in sorts
            if not ((*sort, self._most_together(cell)) in self._earlier or cell.protocol.budget_seconds)
        ]
        wanted = [cell for cell in (self._widest.values() if memory else unknown) if self._measured(cell) is None]
        self._kept = {key: cost for key, cost in self._kept.items() if cost}  # the others are about to be measured
        return wanted

    def _most_together(self, cell: Cell) -> int:
        """Return the number of cells in the largest job of such cells on a CPU."""
        return min(self._counts[_sort(cell)], ROOM["cpu"].cells) if rows_of(cell) else 1

    def _rate(self, part: tuple[str, ...]) -> float | None:
        """Return the mean duration per unit of work in earlier results; None if there are none."""
        rates = self._rates.get(part)
        return fsum(rates) / len(rates) if rates else None

    def _probed(self, cell: Cell) -> Cost | None:
        widest = self._widest[cell.suite, cell.method]
        return self._measured(cell) or self._measured(widest)

    def _measured(self, cell: Cell) -> Cost | None:
        """Return the stored probe of a cell; None if there is none. Its file is read once for all splits."""
        key = cell.suite, cell.dataset, cell.method, cell.protocol.hash
        if key not in self._kept:
            self._kept[key] = self._calibrations.kept(cell)
        return self._kept[key]


def seconds_of(rows: pd.DataFrame) -> pd.Series:
    """Return the duration of each cell in seconds: an equal share of its job's duration.

    If `elapsed_seconds` is missing, the duration is the sum of the times for tuning, the final fit and its predictions.
    """
    timed = rows["tune_seconds"].fillna(0) + rows["fit_seconds"]
    timed += (rows["predict_seconds_per_1000"] * rows["n_test"] / 1000).fillna(0)
    return (rows["elapsed_seconds"] / cells_of_jobs(rows)).fillna(timed)


def cells_of_jobs(rows: pd.DataFrame) -> pd.Series:
    """Return the number of cells in the job of each row.

    Rows belong to the same job if their `elapsed_seconds` are equal to the last bit. A row without them is alone.
    """
    job = [*("suite", "dataset", "method", "protocol_hash"), "elapsed_seconds"]
    return rows.groupby(job)["split"].transform("size").fillna(1).astype(int)


def _sort(cell: Cell) -> tuple[str, str, str, str]:
    """Return what the cells of a job have in common."""
    return cell.suite, cell.method, cell.dataset, cell.protocol.hash


def _work(suite: str, method: str, dataset: str, protocol: str) -> float | None:
    """Return `Cell.work` of a row's cell; None if the data set or a field of the protocol is unknown."""
    try:
        return Cell(suite, dataset, method, 0, "", Protocol.from_json(protocol), 0).work
    except (LookupError, TypeError, ValueError, datasets.BrokenDataset):
        return None
