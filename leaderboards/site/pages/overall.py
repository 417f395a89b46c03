"""Figures over all data sets of a suite and preset, and the matrix of win rates."""

from math import isnan

import pandas as pd

from leaderboards.figures import charts
from leaderboards.figures.plots import Plot
from leaderboards.metrics import metric
from leaderboards.site.content import Site
from leaderboards.site.standings import Standings
from leaderboards.stats import critical_difference
from leaderboards.wording.formats import counted, visible

LEAST_P = 0.001  # smaller p-values are printed as an inequality
FEWEST_METHODS = 2  # for a figure that compares methods
RUNTIME = "fit_seconds"
COVERAGE = {level: f"coverage_{level}" for level in charts.LEVELS}


def matrix(standings: Standings) -> list[tuple[str, list[tuple[str, float, int]]]]:
    """Return by method (rival, win rate, number of data sets) for each rival, in the order of mean ranks."""
    wins, names = standings.wins, list(standings.by_method)
    rates, counts = (frame.reindex(index=names, columns=names) for frame in (wins.rates, wins.n_datasets))
    lines = zip(names, rates.to_numpy(), counts.to_numpy(), strict=True)
    return [(name, list(zip(names, rate.tolist(), count.tolist(), strict=True))) for name, rate, count in lines]


def figures(site: Site, suite: str, preset: str, standings: Standings, key: str) -> tuple[list[Plot], list[str]]:
    """Return the figures of a metric over all data sets, and a sentence for each that cannot be drawn.

    Args:
        site: all results.
        suite: name of the suite.
        preset: label of the preset.
        standings: by the leading metric.
        key: prefix of ids, unique within a page.
    """
    title = metric(standings.table.metric).title
    if len(standings.by_method) < FEWEST_METHODS:
        return [], ["There is only one method, so there are no figures that compare methods."]
    plots: list[Plot] = []
    missing: list[str] = []
    for made in (
        _ranks(standings, title),
        _critical(standings, title),
        _pareto(site, suite, preset, standings, title, f"{key}-pareto"),
        _coverage(site, suite, preset, standings),
    ):
        if isinstance(made, Plot):
            plots.append(made)
        elif made:
            missing.append(made)
    return plots, missing


def _ranks(standings: Standings, title: str) -> Plot | str:
    rows = standings.by_method
    intervals = {name: (row.rank, row.rank_low, row.rank_high) for name, row in rows.items()}
    not_behind = {name: not row.behind for name, row in rows.items()}
    spoken = ", ".join(f"{visible(name)} {row.rank:.1f}" for name, row in rows.items())
    if all(isnan(row.rank_low) for row in rows.values()):
        if len(standings.ranks["dataset"].unique()) == 1:
            return ""  # only ranks, which the table shows
        return Plot(
            charts.rank_distribution(standings.ranks, intervals, dict.fromkeys(not_behind, False)),
            f"Ranks by {title}, mean over data sets: {spoken}",
            f"Ranks by {title}: a faint dot for each data set, and the mean. "
            "There are too few splits for intervals or tests.",
        )
    return Plot(
        charts.rank_distribution(standings.ranks, intervals, not_behind),
        f"Ranks by {title}, mean over data sets: {spoken}",
        f"Ranks by {title}: a faint dot for each data set, the mean, and its 95 % bootstrap interval over data sets "
        "and splits. Coloured: not significantly different from the best (maximum test over all rivals, 5 % level).",
    )


def _critical(standings: Standings, title: str) -> Plot | str:
    result = critical_difference(standings.complete.table)
    if result.not_tested:
        return f"No critical-difference diagram: {result.not_tested}."
    spoken = "; ".join(f"{visible(group[0])} to {visible(group[-1])}" for group in result.groups)
    return Plot(
        charts.critical_difference_diagram(result),
        f"Critical differences by {title}: "
        + (f"no significant differences within {spoken}" if spoken else "all methods differ significantly"),
        f"Critical difference (Nemenyi, 5 % level) of mean ranks by {title} over the {result.n_datasets} data sets "
        "that every method finished. A bar joins methods without significant differences. Friedman's test of equal "
        f"ranks: p {f'= {result.friedman:.2g}' if result.friedman >= LEAST_P else f'< {LEAST_P}'}.",
    )


def _pareto(site: Site, suite: str, preset: str, standings: Standings, title: str, key: str) -> Plot | str:
    """Return the figure of improvement over the reference against runtime relative to the reference's."""
    quality = standings.relative
    if quality is None:
        return f"No figure of {title} against runtime: the reference method MAP was not run."
    if RUNTIME not in site.cells or not site.cells.loc[site.cells["suite"] == suite, RUNTIME].notna().any():
        return "No figure of quality against runtime: no cell has an uncontended timing."
    cost = site.standings(suite, preset, RUNTIME).relative
    if cost is None:
        return "No figure of quality against runtime: the reference method MAP has no runtime."
    points = pd.DataFrame(
        {
            "cost": cost.overall.set_index("method")["improvement"],
            "quality": quality.overall.set_index("method")["improvement"],
        }
    )
    low_is_good = quality.unit == "times"
    points.loc[quality.reference] = 1.0, 1.0 if low_is_good else 0.0
    points = points.replace([float("inf"), float("-inf")], float("nan")).dropna().sort_index()
    points = points[points["cost"] > 0]
    if len(points) < FEWEST_METHODS:
        return "No figure of quality against runtime: fewer than two methods have both."
    front = charts.pareto_front(points, low_is_good)
    unit = "ratio" if low_is_good else f"difference{', ' + quality.unit if quality.unit else ''}"
    labels = (
        f"time of the final fit, relative to {quality.reference}",
        f"{title} relative to {quality.reference}, {unit} ({'low' if low_is_good else 'high'} is good)",
    )
    return Plot(
        charts.pareto(points, labels, low_is_good, key),
        f"{title} against runtime. No other method is both faster and better than: "
        + ", ".join(f"{visible(name)} ({points['cost'][name]:.3g} times the time)" for name in front),
        f"Quality against runtime, both relative to {quality.reference} and averaged over data sets. The line is the "
        "Pareto front: no other method is both faster and better. Methods far off the scale are left out.",
    )


def _coverage(site: Site, suite: str, preset: str, standings: Standings) -> Plot | str:
    covered = site.splits[(site.splits["suite"] == suite) & (site.splits["preset"] == preset)]
    covered = covered[covered["metric"].isin(list(COVERAGE.values()))]
    if covered.empty:
        return ""  # no regression
    by_dataset = covered.groupby(["method", "metric", "dataset"])["value"].mean()
    shares = by_dataset.groupby(["method", "metric"]).mean().unstack("metric")  # noqa: PD010 - the index is unique
    shares = shares.reindex([name for name in standings.by_method if name in shares.index])
    shares = shares.rename(columns={name: level for level, name in COVERAGE.items()}).reindex(columns=list(COVERAGE))
    spoken = ", ".join(f"{visible(name)} {100 * share:.0f} %" for name, share in shares[90].dropna().items())
    return Plot(
        charts.coverage(shares),
        f"{metric(COVERAGE[90]).title}, mean over data sets: {spoken}",
        f"Coverage of central predictive intervals on {counted(covered['dataset'].nunique(), 'regression set')}, mean "
        "over data sets and splits. Left of the line intervals are too narrow, right of it too wide.",
    )
