"""Regressions as pools: rows whose targets are hidden, until a method asks for them.

A pool is made of at most `ROWS` rows of a table. The training rows of a split are the `FIRST` rows whose targets are
known from the start. A fifth of all rows are test rows. The targets of all other rows can be asked for.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from lockstep_bench.datasets.records import Contents, Reader, Source, Split
from lockstep_bench.datasets.splits import permutation
from lockstep_bench.datasets.tabular import diabetes, uci, uci_gp

TABLES = (
    *("yacht", "energy", "concrete", "wine", "diabetes", "gp-airfoil"),
    *("kin8nm", "naval", "power", "protein"),
)
ROWS, FIRST, TEST = 1000, 20, 0.2  # largest number of rows, number of first ones, fraction of test rows
N_SPLITS = 10
SEED = 2019  # any fixed number would do


@dataclass(frozen=True, kw_only=True)
class Pool(Source):
    """Description of a regression whose targets are revealed row by row."""

    def pool(self, split: Split) -> np.ndarray:
        """Return the rows (n,) whose targets can be asked for."""
        return np.setdiff1d(np.arange(self.n_rows), np.concatenate([split.train, split.test]))


class Optimised(Pool):
    """Description of a pool whose row of the largest target is sought; it is never a first row or a test row."""


def read_pool(read: Reader, hide_largest: bool, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x (N, P), y (N,) and the splits of a pool.

    Args:
        read: reader of the table.
        hide_largest: whether rows of the largest target are always in the pool.
        contents: verified contents of the table's files.
    """
    x, y, *_ = read(contents)
    chosen = np.sort(permutation(len(y), SEED)[:ROWS])
    x, y = x[chosen], y[chosen]
    return x, y, tuple(_split(y, hide_largest, number) for number in range(N_SPLITS))


def _split(y: np.ndarray, hide_largest: bool, number: int) -> Split:
    order = permutation(len(y), [SEED, number])
    if hide_largest:
        order = order[y[order] < y.max()]
    return Split(order[:FIRST], order[FIRST : FIRST + round(TEST * len(y))])


def _optimised(source: Source) -> Optimised:
    title = f"{source.title}: search for the largest target"
    return Optimised(title=title, **_shared(source, "optimise", hide_largest=True))


def _learned(source: Source) -> Pool:
    return Pool(title=f"{source.title}: active learning", **_shared(source, "active", hide_largest=False))


def _shared(source: Source, task: str, hide_largest: bool) -> dict[str, Any]:
    """Return the fields that are equal for all pools of a table."""
    return {
        "name": f"{task}-{source.name.removeprefix('gp-')}",
        "n_rows": min(source.n_rows, ROWS),
        "n_features": source.n_features,
        "n_splits": N_SPLITS,
        "origin": source.origin,
        "licence": source.licence,
        "read": partial(read_pool, source.read, hide_largest),
        "suites": ("decisions",),
        "noise_precisions": None,  # from the first targets alone
        "notes": source.notes,
        "files": source.files,
        "folder": source.folder,
        "base_url": source.base_url,
    }


@cache
def sources() -> tuple[Pool, ...]:
    """Return the descriptions of all pools."""
    tables = {source.name: source for source in (*uci.sources(), diabetes.SOURCE, *uci_gp.sources())}
    return tuple(pool_of(tables[name]) for pool_of in (_learned, _optimised) for name in TABLES)
