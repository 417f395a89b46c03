"""What a dry run shows: the plan, and how long it may take."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from bench.console.forecast import lines, makespan
from bench.costs.calibration import Calibrations
from bench.costs.packing import MIB
from bench.costs.workload import Measure, Workload
from bench.execution.workers import Slot
from bench.experiment.cells import Cell

LONGEST = 3  # jobs that are named
PATIENCE_SECONDS = 20  # for probes, which are kept: the next dry run goes on with those that are left


def measuring(console: Console, data_dir: Path | None, seconds: float = inf) -> Measure:
    """Makes probes, as `bench.costs.workload.workload` asks for them, under a bar; none begins after so many
    seconds.
    """

    def measure(calibrations: Calibrations, cells: Sequence[Cell], slots: Sequence[Slot]) -> None:
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("probing how long methods take", total=len(cells))
            calibrations.measure(cells, slots, data_dir, lambda: progress.advance(bar), seconds)

    return measure


def show(console: Console, load: Workload) -> None:
    """A line for each data set, the longest jobs, the slots, and when all will be done."""
    table = Table(box=None)
    for heading in ("data set", "cells", "jobs", "time", "memory", "basis of the time"):
        table.add_column(heading, justify="right" if heading in ("cells", "jobs", "time", "memory") else "left")
    for line in lines(load.packs, load.estimates):
        memory = "?" if line.bytes is None else f"{line.bytes / MIB:,.0f} MiB"
        row = (line.dataset, str(line.cells), str(line.jobs), duration(line.seconds), memory, ", ".join(line.bases))
        table.add_row(*map(escape, row))
    console.print(table)
    slots, seconds = load.slots, [one.seconds for one in load.estimates]
    each = ""
    if load.free_bytes is not None:
        share = f"{load.free_bytes / len(slots) * _devices(slots) / MIB:,.0f} MiB"
        each = f"; a thread and {share} of free memory for each"
    console.print(f"{len(slots)} slot(s): {escape(', '.join(slot.name for slot in slots))}{each}", soft_wrap=True)
    if None in seconds:
        console.print("How long it takes is not known: nothing like it has run here, and no probe succeeded.")
    if None in seconds or not seconds:
        return
    named = ", ".join(
        f"{_name(pack)} {duration(one)}" for pack, one in list(zip(load.packs, seconds, strict=True))[:LONGEST]
    )
    console.print(f"Longest first: {escape(named)}", soft_wrap=True)
    console.print(f"About [bold]{duration(makespan(seconds, len(slots)))}[/] in all, {duration(sum(seconds))} of work")


def duration(seconds: float | None) -> str:
    """In the largest units that tell: "3.4 s", "4 min 5 s", "2 h 3 min"; "?" for None."""
    if seconds is None:
        return "?"
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _devices(slots: Sequence[Slot]) -> int:
    return len({slot.gpu for slot in slots})


def _name(pack: Sequence[Cell]) -> str:
    first = pack[0]
    splits = f"split {first.split}" if len(pack) == 1 else f"{len(pack)} splits"
    return f"{first.dataset} {first.method} ({splits})"
