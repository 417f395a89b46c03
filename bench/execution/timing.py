"""Repetition of one cell for each method and data set, alone on an idle device, to measure its time (`--timing`).

If several cells run at the same time, they slow each other down, so that their times say little about a method.
"""

from collections.abc import Iterable, Mapping
from math import isclose
from pathlib import Path
from typing import Any

import pandas as pd

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.shared.columns import METRICS
from lockstep_bench.shared.schema import LATER

# Numbers that a repetition must reproduce. Metrics of `LATER` are left out: older rows lack them, and some jump where
# rounding changes the order of points.
SAME = (*(name for name in METRICS if name not in LATER), "validation_nmll", "validation_w2_scaled")
# A fit alone equals its replica in a stack but for rounding in single precision, which training makes larger.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def due(results: Results, cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells to repeat, one for each method, data set and protocol that has no uncontended timing yet.

    The chosen cell is the first, by split and seed, with the status "ok".

    Args:
        results: The results folder.
        cells: Cells of the run.
    """
    rows = results.rows()
    finished = rows[rows["status"] == "ok"]
    exclusive = set(_identities(finished[finished["exclusive"].eq(True)]))
    known = set(_identities(finished))
    groups: dict[Path, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.split, cell.seed)):
        if _identity(cell) in known:
            groups.setdefault(results.timing(cell), []).append(cell)
    untimed = {path: group for path, group in groups.items() if not exclusive.intersection(map(_identity, group))}
    return [group[0] for group in untimed.values() if not results.has_timing(group[0])]


class Timings:
    """Stores the times of repeated cells, if a repetition gives the same numbers as before.

    Args:
        results: The results folder.
        cells: Cells to time. Results of other cells, which only warm up the workers, are ignored.

    Attributes:
        differing: Sentences on the differences, for each cell whose repetition gave other numbers.
        failed: The status of each cell whose repetition is not "ok".
    """

    def __init__(self, results: Results, cells: Iterable[Cell]):
        self._results, self._cells = results, frozenset(cells)
        self.differing: dict[Cell, list[str]] = {}
        self.failed: dict[Cell, str] = {}

    def write(self, result: CellResult) -> None:
        """Store the times of a repeated cell, or note how its numbers differ or that it failed."""
        cell = result.cell
        if cell not in self._cells:
            return
        if result.status != "ok":
            self.failed[cell] = result.status
        elif changes := differences(self._results.row(cell), result.row):
            self.differing[cell] = changes
        else:
            self._results.write_timing(result)


def differences(stored: Mapping[str, Any], repeated: Mapping[str, Any]) -> list[str]:
    """Return a text for each number that differs between a stored row and its repetition, with both values.

    If numbers differ, changes of code, packages, data set, machine or execution come first in the list. Code is
    compared by its hash (`bench.experiment.code.identity_of`), or by its revision if one of the rows has no hash.

    Args:
        stored: All columns of the stored row.
        repeated: All columns of the repeated row.
    """
    numbers = [
        f"{name} {stored[name]}, now {repeated[name]}"
        for name in (*SAME, "hparams")
        if not _alike(stored[name], repeated[name])
    ]
    code = "code_identity" if stored["code_identity"] and repeated["code_identity"] else "code_revision"
    reasons = (code, "versions", "data_sha256", "device", "host", "execution")
    changed = [f"another {name.replace('_', ' ')}" for name in reasons if stored[name] not in (None, repeated[name])]
    return [*changed, *numbers] if numbers else []


def _alike(before: Any, now: Any) -> bool:
    if isinstance(before, float) and isinstance(now, float):
        return isclose(before, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (before != before and now != now)
    return bool(before == now)


def _identity(cell: Cell) -> tuple[Any, ...]:
    return cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash, cell.split, cell.seed


def _identities(rows: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    key = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]
    return rows[key].itertuples(index=False, name=None)
