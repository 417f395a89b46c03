"""Parts of the cells, by what a person asks for."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

import pandas as pd

from leaderboards.metrics import MEASURED
from leaderboards.wording.formats import visible

MOST_NAMED = 12


class NotThere(ValueError):
    """What was asked for is not in the results; the message says what is."""


def select(
    cells: pd.DataFrame,
    suites: Sequence[str] = (),
    presets: Sequence[str] = (),
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> pd.DataFrame:
    """The rows of `cells` that are of one of each; an empty choice is no restriction.

    A preset is meant with all its protocols, so "paper" is also "paper@aaaaaaaa".

    Raises:
        NotThere: for a name that no row has, or names that no row has together.
    """
    whole = cells["preset"].str.split("@").str[0]
    columns = {
        "suite": (suites, [cells["suite"]]),
        "preset": (presets, [cells["preset"], whole]),
        "data set": (datasets, [cells["dataset"]]),
        "method": (methods, [cells["method"]]),
    }
    keep = pd.Series(True, cells.index)
    for kind, (names, series) in columns.items():
        if names:
            require(kind, names, set().union(*(one.unique() for one in series)))
            keep &= pd.concat([one.isin(names) for one in series], axis=1).any(axis=1)
    if cells.empty or keep.any():
        return cells[keep]
    asked = " and ".join(f"{kind} {', '.join(names)}" for kind, (names, _) in columns.items() if names)
    raise NotThere(f"no result is of {asked} at once")


def select_metrics(cells: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """`names`, if some row of `cells` has a value of each; without names, all that some row has, in the pages' order.

    Raises:
        NotThere: otherwise.
    """
    there = [name for name in MEASURED if cells[name].notna().any()]
    require("metric", names, there)
    return list(names) or there


def require(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    """Raise `NotThere` for the first of `names` that is not in `known`."""
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else "."
            raise NotThere(f"{kind} '{visible(name)}' has no results here{hint} There are: {_listed(sorted(known))}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (", ".join(map(visible, names[:MOST_NAMED])) or "none") + more
