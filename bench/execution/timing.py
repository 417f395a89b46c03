"""The timing pass: one cell of each method on each data set again, alone on a device that does nothing else.

Times of cells that ran beside others, or side by side in one job, say as much about those as about the method.
"""

from collections.abc import Iterable, Mapping
from math import isclose
from typing import Any

import pandas as pd

from bench.experiment.cells import Cell
from bench.results.folder import Results
from bench.results.record import CellResult
from bench.schema import METRICS

SAME = (*METRICS, "validation_nmll", "validation_w2_scaled")  # numbers that a repetition must give again
# A fit alone equals the same fit in a stack but for rounding in single precision, which training makes larger.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def due(results: Results, cells: Iterable[Cell]) -> list[Cell]:
    """The cell to be repeated of each method, data set and protocol that has finished cells and no exclusive time.

    It is that of the first split that ended "ok".
    """
    rows = results.rows()
    finished = rows[rows["status"] == "ok"]
    exclusive = set(_identities(finished[finished["exclusive"].eq(True)]))
    known, groups = set(_identities(finished)), {}
    for cell in sorted(cells, key=lambda cell: (cell.split, cell.seed)):
        if _identity(cell) in known:
            groups.setdefault(results.timing(cell), []).append(cell)
    without = {path: own for path, own in groups.items() if not exclusive.intersection(map(_identity, own))}
    return [own[0] for path, own in without.items() if not path.exists()]


class Timings:
    """Takes repeated cells in the place of a results folder, and keeps their times there if they gave the same numbers.

    Args:
        results: the folder.
        cells: to be timed; others, which rehearse for them, are passed over.

    Attributes:
        differing: the cells that did not, and in what.
        failed: the cells that did not end "ok" this time, and how.
    """

    def __init__(self, results: Results, cells: Iterable[Cell]):
        self._results, self._cells = results, frozenset(cells)
        self.differing: dict[Cell, list[str]] = {}
        self.failed: dict[Cell, str] = {}

    def write(self, result: CellResult) -> None:
        """Take the result of a repeated cell."""
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
    """The numbers that a repetition should have given again and did not, each with both values.

    Where the code, the packages or the machine are others, that is said first.
    """
    numbers = [
        f"{name} {stored[name]}, now {repeated[name]}"
        for name in (*SAME, "hparams")
        if not _alike(stored[name], repeated[name])
    ]
    reasons = ("code_revision", "versions", "data_sha256", "device", "host")
    changed = [f"another {name.replace('_', ' ')}" for name in reasons if stored[name] != repeated[name]]
    return [*changed, *numbers] if numbers else []


def _alike(before: Any, now: Any) -> bool:
    if isinstance(before, float) and isinstance(now, float):
        return isclose(before, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (before != before and now != now)
    return before == now


def _identity(cell: Cell) -> tuple[Any, ...]:
    return cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash, cell.split, cell.seed


def _identities(rows: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    key = ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]
    return rows[key].itertuples(index=False, name=None)
