"""How long jobs take and how much memory: from earlier rows of this host, from kept measurements, or from neither."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np
import pandas as pd

import datasets
from bench.costs.calibration import Calibrations
from bench.costs.cost import Cost
from bench.costs.packing import ASSUMED, MIB, Need
from bench.experiment.cells import Cell
from bench.experiment.protocol import Protocol

EARLIER, PROBED, SCALED, RELATED, GUESSED = BASES = (
    "earlier runs",  # of the same cells but for their split, on a device and host like this
    "probe",  # a few updates of the same
    "earlier runs, scaled",  # of the same under another protocol, by the work of each
    "probes nearby",  # of the method on data with fewer and with more features
    "other methods",  # their typical speed
)
MEASURED = ("setup", "setup_row", "update", "update_row", "predict", "base_bytes", "row_bytes")  # of a `Cost`


class Estimate(NamedTuple):
    """Of a job on its slot.

    Attributes:
        seconds: None where nothing at all is known.
        bytes: of memory, at the most; None where it was never measured.
        basis: of the seconds, one of `BASES`.
    """

    seconds: float | None
    bytes: int | None
    basis: str


class Estimates:
    """What is known of the cells of a run.

    Args:
        wanted: the cells; where one was not measured, others of its method tell.
        rows: of `Results.rows`.
        calibrations: measurements, all of the sort of slot that the run has.
        host, device: as rows have them; what rows of others say is of no use.
    """

    def __init__(self, wanted: Sequence[Cell], rows: pd.DataFrame, calibrations: Calibrations, host: str, device: str):
        own = rows[(rows["host"] == host) & (rows["device"] == device)]
        own = own.assign(seconds=seconds_of(own)).dropna(subset="seconds")
        groups = own.groupby(["suite", "dataset", "method", "protocol_hash"])
        self._seconds = groups["seconds"].mean().to_dict()
        self._peaks = groups["peak_memory_mib"].max().dropna().to_dict()
        self._protocols = dict(zip(own["protocol_hash"], own["protocol"], strict=True))
        self._calibrations = calibrations
        self._peers: dict[tuple[str, ...], dict[str, Cell]] = {}
        for cell in wanted:
            self._peers.setdefault(_of_method(cell), {}).setdefault(cell.dataset, cell)
        self._costs: dict[tuple[str, ...], Cost | None] = {}

    def of(self, jobs: Sequence[tuple[Sequence[Cell], int]]) -> list[Estimate]:
        """Of each job: its cells, which differ in their split alone, and the most rows of a stack of it."""
        found = [self._of(cells, rows) for cells, rows in jobs]
        works = [fsum(cell.work for cell in cells) for cells, _ in jobs]
        known = [(one.seconds, work) for one, work in zip(found, works, strict=True) if one.seconds is not None]
        if not known:
            return found
        rate = fsum(seconds for seconds, _ in known) / fsum(work for _, work in known)
        pairs = zip(found, works, strict=True)
        return [one if one.seconds is not None else one._replace(seconds=rate * work) for one, work in pairs]

    def need(self, cell: Cell) -> Need:
        """Memory of a job of such cells: measured, of the method on other data, or assumed."""
        cost = self._cost(cell) or self._nearby(cell)
        return cost.need if cost else ASSUMED

    def worth_probing(self, memory: bool = False) -> list[Cell]:
        """Cells that have not been probed: each method's with the most features, then each one's with the fewest.

        What lies between follows from those. For their seconds, data of which the method has rows do not count; for
        their `memory`, of which rows know the peak alone, all do.
        """
        most, fewest = [], []
        for peers in self._peers.values():
            unknown = [one for one in peers.values() if memory or self._of([one], 1).basis not in (EARLIER, SCALED)]
            if unknown:
                most.append(max(unknown, key=_features))
                fewest.append(min(unknown, key=_features))
        return [cell for cell in dict.fromkeys(most + fewest) if self._cost(cell) is None]

    def forget(self) -> None:
        """Look again at what has been measured."""
        self._costs.clear()

    def _of(self, cells: Sequence[Cell], rows: int) -> Estimate:
        first, here = cells[0], _identity(cells[0])
        exact, peak = self._cost(first), self._peaks.get(here)
        nearby = exact or self._nearby(first)
        memory = int(peak * MIB) if peak else nearby and nearby.need.bytes_with(_rows(nearby, first, len(cells), rows))
        if here in self._seconds:
            return Estimate(self._seconds[here] * len(cells), memory, EARLIER)
        if exact:
            return Estimate(exact.seconds(cells, rows), memory, PROBED)
        if (rate := self._rate(first)) is not None:
            return Estimate(rate * first.work * len(cells), memory, SCALED)
        if nearby:
            return Estimate(nearby.seconds(cells, rows), memory, RELATED)
        return Estimate(None, None, GUESSED)

    def _cost(self, cell: Cell) -> Cost | None:
        if (key := _identity(cell)) not in self._costs:
            self._costs[key] = self._calibrations.kept(cell)
        return self._costs[key]

    def _nearby(self, cell: Cell) -> Cost | None:
        """What was measured of the method on other data, along the line between those with fewer and more features."""
        peers = sorted(self._peers.get(_of_method(cell), {}).values(), key=_features)
        known = [(_features(peer), cost) for peer in peers if (cost := self._cost(peer)) is not None]
        if not known:
            return None
        places, costs = zip(*known, strict=True)
        nearest = min(known, key=lambda one: abs(one[0] - _features(cell)))[1]
        values = {
            name: float(np.interp(_features(cell), places, [getattr(cost, name) for cost in costs]))
            for name in MEASURED
        }
        return replace(nearest, **{name: int(one) if name.endswith("bytes") else one for name, one in values.items()})

    def _rate(self, cell: Cell) -> float | None:
        """Seconds per `Cell.work` of the same method and data under other protocols."""
        suite, dataset, method, _ = _identity(cell)
        rates = []
        for (*here, protocol_hash), seconds in self._seconds.items():
            if here == [suite, dataset, method] and (protocol := _protocol(self._protocols[protocol_hash])):
                rates.append(seconds / replace(cell, protocol=protocol).work)
        return fsum(rates) / len(rates) if rates else None


def seconds_of(rows: pd.DataFrame) -> pd.Series:
    """What each cell took: its share of its job's time, or the sum of what was timed where that is not known.

    Cells of one job have the same `elapsed_seconds`, to the last bit.
    """
    timed = rows["tune_seconds"].fillna(0) + rows["fit_seconds"]
    timed += (rows["predict_seconds_per_1000"] * rows["n_test"] / 1000).fillna(0)
    job = [*("suite", "dataset", "method", "protocol_hash"), "elapsed_seconds"]
    share = rows["elapsed_seconds"] / rows.groupby(job)["split"].transform("size")
    return share.fillna(timed)


def _rows(cost: Cost, cell: Cell, n_cells: int, rows: int) -> int:
    """Of the largest stack of a job."""
    if not cost.stacked:
        return cost.members
    from bench.costs.packing import rows_of

    return min(rows, rows_of(cell) * n_cells)


def _features(cell: Cell) -> int:
    return datasets.entry(cell.dataset).n_features


def _identity(cell: Cell) -> tuple[str, ...]:
    return cell.suite, cell.dataset, cell.method, cell.protocol.hash


def _of_method(cell: Cell) -> tuple[str, ...]:
    return cell.suite, cell.method, cell.protocol.hash


def _protocol(text: str) -> Protocol | None:
    """Read from a row; None if it has attributes that this program does not know."""
    try:
        return Protocol(**json.loads(text))
    except (TypeError, ValueError):
        return None
