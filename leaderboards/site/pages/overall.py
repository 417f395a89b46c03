"""Figures and tables over all data sets of a suite and preset."""

from math import isnan

import pandas as pd

from leaderboards.figures import charts
from leaderboards.figures.plots import Plot
from leaderboards.metrics import metric
from leaderboards.site.content import Site
from leaderboards.site.standings import Standings
from leaderboards.stats import critical_difference
from leaderboards.wording.formats import counted, visible

LEAST_P = 0.001  # that is printed as it is
FEWEST = 2  # methods that a figure can compare
RUNTIME = "fit_seconds"
COVERAGE = {level: f"coverage_{level}" for level in charts.LEVELS}


def matrix(grid) -> list[tuple[str, list[tuple[str, float, int]]]]:
    """By method, its win rate against each rival and the data sets that it is over, in the order of mean ranks."""
    wins, names = grid.standings.wins, list(grid.standings.lines)
    rates, counts = (frame.reindex(index=names, columns=names) for frame in (wins.rates, wins.n_datasets))
    lines = zip(names, rates.to_numpy(), counts.to_numpy(), strict=True)
    return [(name, list(zip(names, rate.tolist(), count.tolist(), strict=True))) for name, rate, count in lines]


def figures(site: Site, suite: str, preset: str, lead, key: str) -> tuple[list[Plot], list[str]]:
    """Figures of the grid `lead`, and a sentence for each that cannot be drawn; `key` differs within a page."""
    standings, title = lead.standings, lead.metric.title
    if len(standings.lines) < FEWEST:
        return [], ["There is one method, so there are no figures that compare methods."]
    found, unseen = [], []
    for made in (
        _ranks(standings, title),
        _critical(standings, title),
        _pareto(site, suite, preset, lead, f"{key}-pareto"),
        _coverage(site, suite, preset, standings),
    ):
        (unseen if isinstance(made, str) else found).append(made)
    return found, [sentence for sentence in unseen if sentence]


def _ranks(standings: Standings, title: str) -> Plot | str:
    intervals = {name: (line.rank, line.rank_low, line.rank_high) for name, line in standings.lines.items()}
    ahead = {name: not line.behind for name, line in standings.lines.items()}
    spoken = ", ".join(f"{visible(name)} {line.rank:.1f}" for name, line in standings.lines.items())
    if all(isnan(line.rank_low) for line in standings.lines.values()):
        if len(standings.places["dataset"].unique()) == 1:
            return ""  # ranks alone, which the table has
        return Plot(
            charts.rank_distribution(standings.places, intervals, dict.fromkeys(ahead, False)),
            f"Ranks by {title}, mean over data sets: {spoken}",
            f"Ranks by {title}: a faint dot for each data set, and the mean. So few splits tell nobody from the best.",
        )
    return Plot(
        charts.rank_distribution(standings.places, intervals, ahead),
        f"Ranks by {title}, mean over data sets: {spoken}",
        f"Ranks by {title}: a faint dot for each data set, the mean, and 95 % of bootstrap resamples of data sets and "
        "splits; in colour what is not told from the best (maximum test over all rivals, 5 % level).",
    )


def _critical(standings: Standings, title: str) -> Plot | str:
    found = critical_difference(standings.ground.table)
    if found.untold:
        return f"No critical-difference diagram: {found.untold}."
    spoken = "; ".join(f"{visible(group[0])} to {visible(group[-1])}" for group in found.groups)
    return Plot(
        charts.critical_difference_diagram(found),
        f"Critical differences by {title}: not told apart are {spoken or 'no neighbours'}",
        f"Critical difference (Nemenyi, 5 % level) of mean ranks by {title} over the {found.n_datasets} data sets that "
        f"every method finished: a bar joins methods that cannot be told apart. Friedman's test that all rank alike: "
        f"p {f'= {found.friedman:.2g}' if found.friedman >= LEAST_P else f'< {LEAST_P}'}.",
    )


def _pareto(site: Site, suite: str, preset: str, lead, key: str) -> Plot | str:
    """Improvement over the reference against the runtime in units of its own, both over data sets."""
    quality = lead.standings.against
    if quality is None:
        return f"No figure of {lead.metric.title} against runtime: MAP, which both are measured against, was not run."
    if RUNTIME not in site.cells or not site.cells.loc[site.cells["suite"] == suite, RUNTIME].notna().any():
        return "No figure of quality against runtime: no row tells its runtime."
    cost = site.standings(suite, preset, RUNTIME).against
    if cost is None:
        return "No figure of quality against runtime: MAP has none."
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
    if len(points) < FEWEST:
        return "No figure of quality against runtime: fewer than two methods have both."
    front = charts.pareto_front(points, low_is_good)
    unit = "ratio" if low_is_good else f"difference{', ' + quality.unit if quality.unit else ''}"
    labels = (
        f"time of the final fit, times {quality.reference}'s",
        f"{lead.metric.title} against {quality.reference}, {unit} ({'low' if low_is_good else 'high'} is good)",
    )
    return Plot(
        charts.pareto(points, labels, low_is_good, key),
        f"{lead.metric.title} against runtime. No other method is both faster and better than: "
        + ", ".join(f"{visible(name)} ({points.loc[name, 'cost']:.3g} times the time)" for name in front),
        f"Quality against runtime, each in relation to {quality.reference} and averaged over data sets. The line joins "
        "the Pareto front: no other method is both faster and better. A method far off the scale is left out.",
    )


def _coverage(site: Site, suite: str, preset: str, standings: Standings) -> Plot | str:
    here = site.splits[(site.splits["suite"] == suite) & (site.splits["preset"] == preset)]
    here = here[here["metric"].isin(list(COVERAGE.values()))]
    if here.empty:
        return ""  # no regression
    by_dataset = here.groupby(["method", "metric", "dataset"])["value"].mean()
    shares = by_dataset.groupby(["method", "metric"]).mean().unstack("metric")  # noqa: PD010 - the index is unique
    shares = shares.reindex([name for name in standings.lines if name in shares.index])
    shares = shares.rename(columns={name: level for level, name in COVERAGE.items()}).reindex(columns=list(COVERAGE))
    spoken = ", ".join(f"{visible(name)} {100 * share:.0f} %" for name, share in shares[90].dropna().items())
    return Plot(
        charts.coverage(shares),
        f"{metric(COVERAGE[90]).title}, mean over data sets: {spoken}",
        f"Coverage of central predictive intervals on {counted(here['dataset'].nunique(), 'regression set')}, mean "
        "over data sets and splits: left of the line a method's intervals are too narrow, right of it too wide.",
    )
