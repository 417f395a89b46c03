"""Figures over all data sets of a suite and preset, and the matrix of win rates."""

import pandas as pd

from lockstep_bench.leaderboards.figures import charts
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.wording.formats import counted, visible

FEWEST_METHODS = 2  # for a figure that compares methods
MOST_RIVALS = 60  # methods whose pairs a table can hold
RUNTIME = "total_seconds"
COVERAGE = {level: f"coverage_{level}" for level in charts.LEVELS}


def matrix(standings: Standings) -> list[tuple[str, list[tuple[str, float, int]]]]:
    """Return for each method the tuples (rival, win rate, number of data sets), in the order of mean ranks.

    If there are more than `MOST_RIVALS` methods, only one method of each family is included.
    """
    wins, names = standings.wins, list(standings.by_method)
    if len(names) > MOST_RIVALS:
        names = [row.method for row in standings.families.rows][:MOST_RIVALS]
    rates, counts = (frame.reindex(index=names, columns=names) for frame in (wins.rates, wins.n_datasets))
    lines = zip(names, rates.to_numpy(), counts.to_numpy(), strict=True)
    return [(name, list(zip(names, rate.tolist(), count.tolist(), strict=True))) for name, rate, count in lines]


def figures(
    site: Site, suite: str, preset: str, standings: Standings, leads: bool, key: str
) -> tuple[list[Plot], list[str]]:
    """Return the figures of a metric over all data sets, and a sentence for each that cannot be drawn.

    Args:
        site: all results.
        suite: name of the suite.
        preset: label of the preset.
        standings: standings by the metric.
        leads: whether this is the leading metric, for which runtime and coverage are drawn too.
        key: prefix for the ids of HTML elements, unique within a page.
    """
    title = metric(standings.table.metric).phrase
    if len(standings.by_method) < FEWEST_METHODS:
        return [], ["There is only one method, so there are no figures that compare methods."] if leads else []
    plots: list[Plot] = []
    missing: list[str] = []
    wanted = [_ranks(standings, title)]
    if leads:
        wanted += [
            _pareto(site, suite, preset, standings, title, f"{key}-pareto"),
            _coverage(site, suite, preset, standings),
        ]
    for made in wanted:
        if isinstance(made, Plot):
            plots.append(made)
        elif made:
            missing.append(made)
    return plots, missing


def _ranks(standings: Standings, title: str) -> Plot | str:
    ranking = standings.families
    if len(ranking.rows) < FEWEST_METHODS or len(ranking.datasets) == 1:
        return ""  # only ranks, which the table shows
    spoken = ", ".join(f"{visible(row.method)} {row.mean_rank:.1f}" for row in ranking.rows)
    return Plot(
        charts.rank_distribution(ranking),
        f"Ranks by {title}, mean over data sets: {spoken}",
        f"Ranks by {title}: a faint dot for each data set, the mean, and as a line the ranks that the results leave "
        "open, at 95 % for all methods together. Coloured: the best, or could be the best.",
    )


def _pareto(site: Site, suite: str, preset: str, standings: Standings, title: str, key: str) -> Plot | str:
    """Return the figure of differences to the reference against runtime relative to the reference's."""
    reference = standings.reference
    if not reference:
        return f"No figure of {title} against runtime: the reference method MAP was not run."
    if RUNTIME not in site.cells or not site.cells.loc[site.cells["suite"] == suite, RUNTIME].notna().any():
        return "No figure of quality against runtime: no cell has an uncontended timing."
    cost = site.standings(suite, preset, RUNTIME)
    if cost.reference != reference:
        return "No figure of quality against runtime: the reference method MAP has no runtime."
    points = pd.DataFrame(
        {
            "cost": {method: 1 + row.difference for method, row in _everywhere(cost).items()},
            "quality": {method: row.difference for method, row in _everywhere(standings).items()},
        }
    )
    low_is_good = standings.table.goal != "high"
    points.loc[reference] = 1.0, 0.0
    points = points.replace([float("inf"), float("-inf")], float("nan")).dropna().sort_index()
    points = points[points["cost"] > 0]
    if len(points) < FEWEST_METHODS:
        return "No figure of quality against runtime: fewer than two methods have both."
    front = charts.pareto_front(points, low_is_good)
    unit = {"relative": ", relative", "": ""}.get(standings.unit, f", {standings.unit}")
    labels = (
        f"time of tuning and final fit, relative to {reference}",
        f"difference in {title} to {reference}{unit} ({standings.better})",
    )
    return Plot(
        charts.pareto(points, labels, low_is_good, key),
        f"{metric(standings.table.metric).title} against runtime. No other method is both faster and better than: "
        + ", ".join(_with_time(name, points["cost"][name], reference) for name in front),
        f"Quality against the time of tuning and final fit, relative to {reference} and averaged over data sets. "
        "The line is the Pareto front: no other method is both faster and better. Methods far off the scale are left "
        "out.",
    )


def _with_time(name: str, times: float, reference: str) -> str:
    return visible(name) if name == reference else f"{visible(name)} ({times:.3g} times the time of {reference})"


def _everywhere(standings: Standings) -> dict[str, Ranked]:
    """Return the differences to the reference of the methods that have one on all data sets."""
    return {method: row for method, row in standings.changes.items() if row.n_compared >= row.n_datasets}


def _coverage(site: Site, suite: str, preset: str, standings: Standings) -> Plot | str:
    covered = site.summary[(site.summary["suite"] == suite) & (site.summary["preset"] == preset)]
    covered = covered[covered["metric"].isin(list(COVERAGE.values())) & (covered["n"] > 0)]
    if covered.empty:
        return ""  # no regression
    by_dataset = covered.set_index(["method", "metric", "dataset"])["mean"].sort_index()
    shares = by_dataset.groupby(["method", "metric"]).mean().unstack("metric")  # noqa: PD010 - the index is unique
    shares = shares.reindex([name for name in standings.by_method if name in shares.index])
    if shares.empty:
        return ""  # the ranked methods have none
    shares = shares.rename(columns={name: level for level, name in COVERAGE.items()}).reindex(columns=list(COVERAGE))
    spoken = ", ".join(f"{visible(name)} {100 * share:.0f} %" for name, share in shares[90].dropna().items())
    return Plot(
        charts.coverage(shares),
        f"{metric(COVERAGE[90]).title}, mean over data sets: {spoken}",
        "Coverage of central predictive intervals less the nominal coverage, mean over splits and "
        f"{counted(covered['dataset'].nunique(), 'regression set')}. Left of the line intervals are too narrow, "
        "right of it too wide.",
    )
