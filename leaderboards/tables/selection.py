"""Selection of results by the names that a user gives on the command line."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

import pandas as pd

from lockstep_bench.leaderboards.metrics import MEASURED
from lockstep_bench.leaderboards.wording.formats import listed, visible
from lockstep_bench.shared.schema import LATER

MOST_NAMED = 12


class NoSuchResults(ValueError):
    """Raised if the results do not contain what was requested; the message lists what they contain."""


def select(
    cells: pd.DataFrame,
    suites: Sequence[str] = (),
    presets: Sequence[str] = (),
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the rows whose suite, preset, data set and method are among the given names; empty lists keep all.

    The name of a preset selects all its protocols: "paper" also selects "paper@aaaaaaaa".

    Raises:
        NoSuchResults: A name occurs in no row, or no row has the names together.
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
            require(kind, names, set().union(*(column.unique() for column in series)))
            keep &= pd.concat([column.isin(names) for column in series], axis=1).any(axis=1)
    if cells.empty or keep.any():
        return cells[keep]
    asked = " and ".join(f"{kind} {', '.join(names)}" for kind, (names, _) in columns.items() if names)
    raise NoSuchResults(f"no result has {asked} together; ask for fewer of them")


def select_metrics(cells: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the given names of metrics after checking them; if empty, all metrics that some row has.

    Raises:
        NoSuchResults: No row has a value of one of the metrics.
    """
    available = [name for name in MEASURED if name in cells and cells[name].notna().any()]
    for name in names:
        older = "; rows that are older than the metric lack it" if name in LATER else ""
        require("metric", [name], available, f"has no results here{older}")
    return list(names) or available


def require(kind: str, names: Sequence[str], known: Collection[str], problem: str = "has no results here") -> None:
    """Raise an error unless all names are known.

    Args:
        kind: kind of the names, such as "metric".
        names: requested names.
        known: available names.
        problem: text of the error on what is wrong with an unknown name.

    Raises:
        NoSuchResults: A name is unknown; the message suggests the nearest name and lists the known ones.
    """
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else "."
            available = listed(list(map(visible, sorted(known))), MOST_NAMED) or "none"
            raise NoSuchResults(f"{kind} '{visible(name)}' {problem}{hint} Available: {available}")
