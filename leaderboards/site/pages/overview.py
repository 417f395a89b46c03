"""The overall ranking on the index: mean ranks, with their uncertainty, in the suite and preset with most evidence."""

from math import nan
from typing import NamedTuple

import numpy as np

from leaderboards.figures.forest import Column, Estimate, forest
from leaderboards.figures.plots import Plot
from leaderboards.metrics import Metric, metric
from leaderboards.site.content import EQUAL_BUDGET, Site, is_quick
from leaderboards.site.pages.suite import boards_of, leading
from leaderboards.site.standings import Standings
from leaderboards.stats.paired import blocks
from leaderboards.wording.formats import counted, number, visible

FEWEST_METHODS, FEWEST_DATASETS, FEWEST_SPLITS = 3, 4, 2  # for a comparison over data sets
NEARLY = 0.9  # share of the largest number of values that counts as nearly as many


class Overview(NamedTuple):
    """The overall ranking.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        metric: the leading metric.
        standings: by that metric.
        evidence: as in "18 data sets, 20 splits each".
        plot: forest plot of the standings.
    """

    suite: str
    preset: str
    metric: Metric
    standings: Standings
    evidence: str
    plot: Plot

    @property
    def why(self) -> str:
        """Reason for showing this suite and preset."""
        same_budget = self.preset == EQUAL_BUDGET
        return "Same tuning budget for all methods" if same_budget else "The suite and preset with most results"


def overview(site: Site) -> Overview | None:
    """Return the ranking in the suite and preset with the most values, by its leading metric.

    A value is the result of a method on a split of a data set. Among those with nearly as many values, `tuned` is
    preferred, because it gives all methods the same budget and wide search ranges. At least 3 methods on 4 data sets
    with 2 splits each are required: the bootstrap draws data sets and splits. The preset `quick` is shown only where
    no other has enough. None if no suite and preset has enough.
    """
    candidates = []
    for suite in site.suites:
        for preset in site.presets(suite):
            lead = leading(boards_of(site, suite, preset))
            standings = site.standings(suite, preset, lead)
            arrays = blocks(standings.table).arrays.values()
            splits = [len(values) for values in arrays]
            enough = len(standings.by_method) >= FEWEST_METHODS and len(splits) >= FEWEST_DATASETS
            if enough and min(splits) >= FEWEST_SPLITS:
                n_values = sum(int(np.count_nonzero(~np.isnan(values))) for values in arrays)
                candidates.append(_Candidate(n_values, suite, preset, lead, standings, splits))
    candidates = [entry for entry in candidates if not is_quick(entry.preset)] or candidates
    most = max((entry.n_values for entry in candidates), default=0)
    near = [entry for entry in candidates if entry.n_values >= NEARLY * most]
    chosen = max(near, key=lambda entry: (entry.preset == EQUAL_BUDGET, entry.n_values), default=None)
    return _overview(chosen) if chosen else None


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
    rows = standings.by_method
    columns = [Column("mean rank", [Estimate(row.rank, row.rank_low, row.rank_high) for row in rows.values()])]
    relative = standings.relative
    changes = ""
    if relative:
        unit = {"times": ", ratio", "": ""}.get(relative.unit, f", {relative.unit}")
        zero = 1.0 if relative.unit == "times" else 0.0
        estimates = [
            Estimate(zero, nan, nan)
            if name == relative.reference
            else Estimate(row.change, row.change_low, row.change_high)
            for name, row in rows.items()
        ]
        columns.append(Column(f"relative to {visible(relative.reference)}{unit}", estimates, zero))
        better = "below 1" if relative.unit == "times" else "above 0"
        changes = (
            f" Right: {lead.title} relative to {visible(relative.reference)}, mean over the data sets that both "
            f"finished; {better} is better, and triangles mark values off the scale."
        )
    tied = [visible(name) for name, row in rows.items() if not row.behind]
    plot = Plot(
        forest([visible(name) for name in rows], [not row.behind for row in rows.values()], columns),
        f"Mean ranks by {lead.title} over {evidence}, the best first: "
        + ", ".join(f"{visible(name)} {_span(row.rank, row.rank_low, row.rank_high)}" for name, row in rows.items())
        + f". Not significantly different from the best: {', '.join(tied)}.",
        f"Mean rank by {lead.title} over the data sets (1 is best), with its 95 % bootstrap interval over data sets "
        "and splits. Coloured: not significantly different from the best (maximum test over all rivals, 5 % level). A "
        f"method that failed or was not run on a data set shares the last ranks there.{changes}",
    )
    return Overview(suite, preset, lead, standings, evidence, plot)


def _span(value: float, low: float, high: float) -> str:
    return f"{number(value, 1)} ({number(low, 1)} to {number(high, 1)})"
