"""Cache of the rows of rankings, by the digest of the results that they are computed from.

Rankings take most of the time of a build of the pages, and few of them change when results are added.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from lockstep_bench.leaderboards.stats.comparable import Asked, Comparable

Row = TypeVar("Row")
IN_USE: ContextVar[tuple[Mapping[str, list[Any]], dict[str, list[Any]]] | None] = ContextVar(
    "rows in use", default=None
)


@contextmanager
def remembering(known: Mapping[str, list[Any]]) -> Iterator[dict[str, list[Any]]]:
    """Take rows of rankings from `known` until the end of the `with` block, and yield those that were asked for.

    Args:
        known: rows by their digest, which the same code has computed.
    """
    used: dict[str, list[Any]] = {}
    token = IN_USE.set((known, used))
    try:
        yield used
    finally:
        IN_USE.reset(token)


def remembered(compute: Callable[[Comparable, Asked], list[Row]], boards: Comparable, asked: Asked) -> list[Row]:
    """Return the rows that `compute` returns for `boards` and `asked`; they are computed only if they are not known.

    Args:
        compute: a pure function of `boards`, whose notes it does not use, and of `asked`.
        boards: the results to compare.
        asked: parts of the ranking to compute.
    """
    in_use = IN_USE.get()
    if in_use is None:
        return compute(boards, asked)
    known, used = in_use
    key = f"{compute.__name__} {tuple(asked)} {boards.digest()}"
    if key not in used:
        used[key] = known[key] if key in known else compute(boards, asked)
    return used[key]
