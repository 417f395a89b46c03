"""The picture of the first page: who is ahead where there is most evidence, and how sure that is."""

from math import nan
from typing import NamedTuple

import numpy as np

from leaderboards.figures.forest import Column, Estimate, forest
from leaderboards.figures.plots import Plot
from leaderboards.metrics import Metric, metric
from leaderboards.site.content import FAIR, Site, is_first_look
from leaderboards.site.pages.suite import boards_of, leading
from leaderboards.site.standings import Standings
from leaderboards.stats.paired import blocks
from leaderboards.wording.formats import counted, number, visible

FEWEST_METHODS, FEWEST_DATASETS, FEWEST_SPLITS = 3, 4, 2  # of which a comparison over data sets says anything
NEARLY = 0.9  # of the most values are as good as the most


class Overview(NamedTuple):
    """Attributes:
    suite, preset, metric, standings: what is shown.
    evidence: "18 data sets, 20 splits each".
    plot: see there.
    """

    suite: str
    preset: str
    metric: Metric
    standings: Standings
    evidence: str
    plot: Plot

    @property
    def why(self) -> str:
        """Why this is the one that is shown."""
        return "At the same budget for all methods" if self.preset == FAIR else "Where there is most evidence"


def overview(site: Site) -> Overview | None:
    """The suite and preset with the most values, by its leading metric; None where none has enough.

    Of those that have nearly as many, `tuned` is preferred: there all methods have the same budget and wide ranges.

    A value is of a method on a split of a data set. Enough are 3 methods on 4 data sets with 2 splits of each that all
    of its methods were run on (the bootstrap draws data sets, of which fewer would say little, and splits, of which one
    cannot vary). The preset for a first look is shown only where no other has enough.
    """
    found = []
    for suite in site.suites:
        for preset in site.presets(suite):
            lead = leading(boards_of(site, suite, preset))
            standings = site.standings(suite, preset, lead)
            arrays = blocks(standings.table).arrays.values()
            splits = [len(values) for values in arrays]
            enough = len(standings.lines) >= FEWEST_METHODS and len(splits) >= FEWEST_DATASETS
            if enough and min(splits) >= FEWEST_SPLITS:
                n_values = sum(np.count_nonzero(~np.isnan(values)) for values in arrays)
                found.append(_Candidate(n_values, suite, preset, lead, standings, splits))
    found = [one for one in found if not is_first_look(one.preset)] or found
    most = max((one.n_values for one in found), default=0)
    near = [one for one in found if one.n_values >= NEARLY * most]
    chosen = max(near, key=lambda one: (one.preset == FAIR, one.n_values), default=None)
    return chosen and _overview(chosen)


class _Candidate(NamedTuple):
    n_values: int
    suite: str
    preset: str
    metric: str
    standings: Standings
    splits: list[int]  # of each data set


def _overview(chosen: _Candidate) -> Overview:
    _, suite, preset, name, standings, splits = chosen
    lead = metric(name)
    of_each = f"{splits[0]} splits each" if len(set(splits)) == 1 else f"{min(splits)} to {max(splits)} splits each"
    evidence = f"{counted(len(splits), 'data set')}, {of_each}"
    lines = standings.lines
    columns = [Column("mean rank", [Estimate(one.rank, one.rank_low, one.rank_high) for one in lines.values()])]
    against = standings.against
    changes = ""
    if against:
        unit = {"times": ", ratio", "": ""}.get(against.unit, f", {against.unit}")
        zero = 1.0 if against.unit == "times" else 0.0
        own = [Estimate(one.change, one.change_low, one.change_high) for one in lines.values()]
        own = [
            Estimate(zero, nan, nan) if name == against.reference else one for name, one in zip(lines, own, strict=True)
        ]
        columns.append(Column(f"against {visible(against.reference)}{unit}", own, zero))
        better = "below 1" if against.unit == "times" else "above 0"
        changes = (
            f" Right: {lead.title} against {visible(against.reference)}, mean over the data sets that both finished; "
            f"{better} is better, and a triangle is off the scale."
        )
    tied = [visible(name) for name, one in lines.items() if not one.behind]
    plot = Plot(
        forest([visible(name) for name in lines], [not one.behind for one in lines.values()], columns),
        f"Mean ranks by {lead.title} over {evidence}, the best first: "
        + ", ".join(f"{visible(name)} {_span(one.rank, one.rank_low, one.rank_high)}" for name, one in lines.items())
        + f". Not told from the best: {', '.join(tied)}.",
        f"Mean rank by {lead.title} over the data sets (1 is best), with 95 % of bootstrap resamples of data sets and "
        "splits. In colour: not told from the best (maximum test over all rivals, 5 % level). A method that failed or "
        f"was not run on a data set shares the last places there.{changes}",
    )
    return Overview(suite, preset, lead, standings, evidence, plot)


def _span(value: float, low: float, high: float) -> str:
    return f"{number(value, 1)} ({number(low, 1)} to {number(high, 1)})"
