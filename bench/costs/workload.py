"""From cells to jobs on slots, longest first: what a run does, and what a dry run shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bench.costs.calibration import Calibrations
from bench.costs.estimates import GUESSED, Estimate, Estimates
from bench.costs.packing import ROOM, packs, rows_of, slots_per_device, stack_rows
from bench.environment.machine import this_machine
from bench.environment.provenance import host
from bench.execution.workers import Slot, slots_on
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job

# (what has been measured, cells that are worth a probe, where to make it): sees to that
Measure = Callable[[Calibrations, Sequence[Cell], Sequence[Slot]], None]


class Workload(NamedTuple):
    """Attributes:
    slots: where the jobs run.
    packs: the cells of each job, in the order in which jobs begin.
    rows: the most rows of each job's stacks.
    estimates: of each job.
    free_bytes: of memory, of the device that has the least; None where that is not known.
    """

    slots: list[Slot]
    packs: list[tuple[Cell, ...]]
    rows: list[int]
    estimates: list[Estimate]
    free_bytes: int | None

    @property
    def weights(self) -> dict[Cell, float] | None:
        """How long each cell takes, in seconds; None where that is not known of any."""
        if any(one.seconds is None for one in self.estimates):
            return None
        pairs = zip(self.packs, self.estimates, strict=True)
        return {cell: one.seconds / len(pack) for pack, one in pairs for cell in pack}

    def rehearsed(self) -> Workload:
        """The same with the shortest job on every slot before all others, under other seeds.

        What a process does once, as importing and compiling, is then no part of the times of those.
        """
        last, count = self.packs[-1], len(self.slots)
        first = [tuple(replace(cell, seed=cell.seed + 1 + number) for cell in last) for number in range(count)]
        return self._replace(
            packs=first + self.packs,
            rows=[self.rows[-1]] * count + self.rows,
            estimates=[self.estimates[-1]] * count + self.estimates,
        )

    def jobs(self, journal: Callable[[Cell], Path], data_dir: Path | None) -> list[Job]:
        """The jobs; `journal` says where a cell's Optuna study is kept."""
        pairs = zip(self.packs, self.rows, strict=True)
        return [Job(pack, tuple(map(journal, pack)), data_dir, rows) for pack, rows in pairs]


class Surroundings(NamedTuple):
    """Where a run takes place.

    Attributes:
        devices: as torch calls them, all of one kind.
        name: of the first, as rows have it.
        cores: for the slots of each device.
        free_bytes: of memory, of the device that has the least.
    """

    devices: tuple[str, ...]
    name: str
    cores: int
    free_bytes: int

    @property
    def kind(self) -> str:
        """ "cpu" or "cuda"."""
        return self.devices[0].partition(":")[0]


def surroundings(devices: Sequence[str]) -> Surroundings:
    """What those devices offer now. A GPU is asked by a process that ends at once: this one is to hold none of it."""
    machine = this_machine()
    if list(devices) == ["cpu"]:
        return Surroundings(("cpu",), "cpu", machine.cores, machine.free_bytes)
    found = [_survey(slot) for slot in slots_on(devices, 1)]
    cores = max(1, machine.cores // len(devices))
    return Surroundings(tuple(devices), found[0][0], cores, min(free for _, free in found))


def _survey(slot: Slot) -> tuple[str, int]:
    from bench.costs.probe import survey
    from bench.execution.supervisor import Supervised

    child = Supervised(slot.environment)
    try:
        return child.call(survey, slot.device)
    finally:
        child.end()


def workload(
    todo: Sequence[Cell],
    around: Surroundings,
    rows: pd.DataFrame,
    *,
    each: int | None = None,
    measure: Measure | None = None,
    calibrations: Calibrations | None = None,
) -> Workload:
    """What is to be done about cells.

    Args:
        todo: the cells.
        around: where.
        rows: of `Results.rows`, from which times are known.
        each: slots on every device; as many as it has cores and memory for if None.
        measure: None for no probes.
        calibrations: what has been measured before, by default what the user's folder keeps.
    """
    kind = around.kind
    calibrations = calibrations or Calibrations(slots_on(around.devices, 1)[0])
    estimates = Estimates(todo, rows, calibrations, host(), around.name)
    if measure and (unknown := estimates.worth_probing(memory=kind == "cuda")):
        at_once = slots_per_device(kind, around.free_bytes, around.cores, []) if kind == "cpu" else 1
        measure(calibrations, unknown, slots_on(around.devices, at_once))
        estimates.forget()
    one_of_each = {(cell.dataset, cell.method, cell.protocol.hash): cell for cell in todo}.values()
    needs = [(estimates.need(cell), max(1, rows_of(cell))) for cell in one_of_each]
    each = each or slots_per_device(kind, around.free_bytes, around.cores, needs)
    slots, share = slots_on(around.devices, each), around.free_bytes // each

    def most(cell: Cell) -> int:
        return stack_rows(kind, share, estimates.need(cell))

    packed = [(pack, most(pack[0])) for pack in packs(todo, kind, len(slots), most)]
    known = estimates.of(packed)
    longest = sorted(zip(packed, known, strict=True), key=lambda one: -_length(*one))
    return Workload(
        slots,
        [pack for (pack, _), _ in longest],
        [rows for (_, rows), _ in longest],
        [one for _, one in longest],
        around.free_bytes,
    )


def workload_elsewhere(todo: Sequence[Cell], slots: Sequence[Slot]) -> Workload:
    """What is to be done about cells on slots of other machines, of which neither times nor memory are known."""
    kind = slots[0].device
    longest = sorted(packs(todo, kind, len(slots)), key=lambda pack: -sum(cell.work for cell in pack))
    unknown = Estimate(None, None, GUESSED)
    return Workload(list(slots), longest, [ROOM[kind].rows] * len(longest), [unknown] * len(longest), None)


def _length(packed: tuple[Sequence[Cell], int], estimate: Estimate) -> float:
    """Seconds, or where they are known of no job the work."""
    return sum(cell.work for cell in packed[0]) if estimate.seconds is None else estimate.seconds
