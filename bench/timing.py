"""The timing pass: one cell of each method on each data set again, alone on a device that does nothing else.

Times of cells that ran beside others, or side by side in one job, say as much about those as about the method.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Any

import pandas as pd

from bench.cells import Cell
from bench.pack import Job
from bench.results import Results
from bench.schema import METRICS, TIMINGS

SAME = (*METRICS, "validation_nmll", "validation_w2_scaled")  # numbers that a repetition must give again
TOLERANCE = 1e-6  # relative: a fit alone equals the same fit in a stack but for rounding


def due(results: Results, cells: Iterable[Cell], rows: pd.DataFrame) -> list[Cell]:
    """The cell to be repeated of each method, data set and protocol that has finished cells and no exclusive time.

    It is that of the first finished split. `rows` are those of `bench.catalogue.rows_in`.
    """
    finished = rows[rows["status"] == "ok"]
    key = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]
    exclusive = dict(zip(finished[key].itertuples(index=False, name=None), finished["exclusive"], strict=True))
    groups: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.split):
        if identity(cell) in exclusive:
            groups.setdefault(results.timing(cell).as_posix(), []).append(cell)
    return [
        own[0]
        for own in groups.values()
        if not results.timing(own[0]).exists() and not any(exclusive[identity(cell)] is True for cell in own)
    ]


def identity(cell: Cell) -> tuple[Any, ...]:
    """What names a cell, as in its row."""
    return cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash, cell.split, cell.seed


def jobs_of(cells: Sequence[Cell], folder: Path, data_dir: Path | None, rows: Callable[[Cell], int]) -> list[Job]:
    """One job for each cell, longest work first; what it tunes is kept in `folder`, which is to be empty."""
    ordered = sorted(cells, key=lambda cell: -cell.work)
    return [Job((cell,), (folder / f"{cell.key}.jsonl",), data_dir, rows(cell)) for cell in ordered]


def timing_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a repeated cell's row."""
    return {name: row.get(name) for name in TIMINGS.names}


def differences(stored: Mapping[str, Any], repeated: Mapping[str, Any]) -> list[str]:
    """The numbers that a repetition should have given again and did not, each with both values."""
    found = [f"hparams {stored['hparams']}, now {repeated['hparams']}"] * (stored["hparams"] != repeated.get("hparams"))
    for name in SAME:
        before, now = stored.get(name), repeated.get(name)
        if not _alike(before, now):
            found.append(f"{name} {before}, now {now}")
    return found


def _alike(before: float | None, now: float | None) -> bool:
    if before is None or now is None:
        return before is now
    return isclose(before, now, rel_tol=TOLERANCE) or (before != before and now != now)
