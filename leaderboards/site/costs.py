"""Cost of a method: seconds of tuning and of the final fit, of one split and of all cells of a suite together."""

from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.wording.formats import counted, decimals_for, listed, number, visible

MOST_NAMED = 6  # data sets in a line
PAIR = ["tune_seconds", "fit_seconds"]


class CostLine(NamedTuple):
    """One line of the table of costs, as printed.

    Attributes:
        what: what the seconds are of.
        over: the cells or data sets that they are the mean or the sum over.
        tuning: seconds of tuning.
        fit: seconds of the final fit.
        total: their sum.
        longer: the sum in minutes or hours; "" for less than two minutes.
    """

    what: str
    over: str
    tuning: str
    fit: str
    total: str
    longer: str


class Cost(NamedTuple):
    """The costs of a method in one suite and preset.

    Attributes:
        lines: one split alone on its device, if a time was measured so; one split as run; all cells as run, if
            there are several.
        shared: whether some of the cells as run shared their device with other work.
        alone: whether there is a line for one split alone on its device.
        untimed: number of cells without a final fit, which are not counted, in words; "" for none.
    """

    lines: list[CostLine]
    shared: bool
    alone: bool
    untimed: str


def cost(site: Site, suite: str, preset: str, method: str) -> Cost | None:
    """Return the costs of a method in one suite and preset; None if no cell has a time."""
    cells = site.cells
    cells = cells[(cells["suite"] == suite) & (cells["preset"] == preset) & (cells["method"] == method)]
    as_run = site.seconds_as_run.loc[cells.index]
    timed = as_run["fit_seconds"].notna()
    if not timed.any():
        return None
    n_sets = cells.loc[timed, "dataset"].nunique()
    n_cells = int(timed.sum())
    of = f"{counted(n_cells, 'cell')} of {counted(n_sets, 'data set')}"
    lines = [_line("One split as run", f"mean over {of}" if n_cells > 1 else "the only cell", as_run[timed].mean())]
    if n_cells > 1:
        lines.append(_line("All splits as run", f"sum over {of}", as_run[timed].sum()))
    shared = not cells.loc[timed, "exclusive"].eq(True).all()
    alone = cells.loc[cells["total_seconds"].notna(), ["dataset", *PAIR]].fillna({"tune_seconds": 0.0})
    timed_alone = shared and len(alone) > 0
    if timed_alone:
        by_set = alone.groupby("dataset", observed=True)[PAIR].mean()
        sets = listed([visible(name) for name in sorted(by_set.index)], MOST_NAMED)
        lines.insert(0, _line("One split alone on its device", f"mean over {sets}", by_set.mean()))
    n_untimed = int((~timed).sum())
    return Cost(lines, shared, timed_alone, counted(n_untimed, "cell") if n_untimed else "")


def _line(what: str, over: str, seconds: pd.Series) -> CostLine:
    tuning, fit = seconds[PAIR]
    total = tuning + fit
    of_tuning, of_fit, of_both = (number(value, decimals_for(value)) for value in (tuning, fit, total))
    return CostLine(what, over, of_tuning, of_fit, of_both, _longer(total))


def _longer(seconds: float) -> str:
    """Return seconds as minutes, or as hours from two hours on; "" for less than two minutes."""
    if seconds < 120:
        return ""
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
