"""The page on equal time budgets: scores against seconds of tuning and training, and the verdicts at each budget."""

from typing import Any, NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.figures.trajectories import trajectories
from lockstep_bench.leaderboards.metrics import Metric, metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.answers import answer
from lockstep_bench.leaderboards.site.pages.suite import boards_of, leading
from lockstep_bench.leaderboards.site.pages.verdict import against_reference
from lockstep_bench.leaderboards.site.standings import Standing, Standings
from lockstep_bench.leaderboards.stats.equal_seconds import BudgetSeries
from lockstep_bench.leaderboards.wording.formats import counted, joined, number, visible

PAIR = ["dataset", "method"]


class SeriesSection(NamedTuple):
    """The section of one series of time budgets, by its leading metric.

    Attributes:
        series: suite, and presets by budget in seconds.
        metric: the leading metric of the largest budget.
        reference: method that differences refer to; "" if there is none.
        methods: names of all methods, in the order of the standings under the largest budget; methods without a
            standing come last.
        columns: standings, by budget in seconds.
        spent: measured median seconds of tuning and training, by budget in seconds and method; known ones only.
        sentences: which methods lead at each budget, and which differ from the reference under the largest.
        overall: plot over all data sets; None without a reference.
        plots: one plot for each data set.
    """

    series: BudgetSeries
    metric: Metric
    reference: str
    methods: list[str]
    columns: dict[int, Standings]
    spent: dict[tuple[int, str], float]
    sentences: list[str]
    overall: Plot | None
    plots: list[Plot]

    def standing(self, seconds: int, method: str) -> Standing | None:
        """Return a method's standing under a budget; None if it was not compared."""
        return self.columns[seconds].by_method.get(method)


def context(site: Site) -> dict[str, Any]:
    """Return the variables of the template `equal_seconds.html`."""
    return {"sections": [section(site, one, f"seconds{place}") for place, one in enumerate(site.budgeted)]}


def section(site: Site, series: BudgetSeries, key: str) -> SeriesSection:
    """Return the section of a series of time budgets.

    `key` is a prefix for the ids of HTML elements, unique within a page.
    """
    *_, largest = series.presets.values()
    name = leading(boards_of(site, series.suite, largest))
    columns = {seconds: site.standings(series.suite, preset, name) for seconds, preset in series.presets.items()}
    *_, last = columns.values()
    points = measured(site, series, name)
    # A method that a run has not yet finished on all sets has scores and no standing.
    compared = [method for one in (last, *columns.values()) for method in one.by_method]
    methods = list(dict.fromkeys([*compared, *points["method"]]))
    known = points.dropna(subset="measured").groupby(["budget", "method"])["measured"].median().reset_index()
    spent = {(budget, method): seconds for budget, method, seconds in known.itertuples(index=False, name=None)}
    overall = None
    if (over_sets := differences(columns, last.reference)) is not None:
        overall = _plot(over_sets, methods, "over data sets", _less(name, last.reference), f"{key}all")
    plots = [
        _plot(rows, methods, str(dataset), metric(name).title, f"{key}set{place}")
        for place, (dataset, rows) in enumerate(points.groupby("dataset"))
    ]
    said = [*_leaders(columns, metric(name).phrase), *against_reference(last.families.rows, last)]
    return SeriesSection(series, metric(name), last.reference, methods, columns, spent, said, overall, plots)


def _leaders(columns: dict[int, Standings], title: str) -> list[str]:
    """Return which methods are or could be the best over data sets, one sentence for budgets with equal answers."""
    budgets: dict[str, list[int]] = {}
    for seconds, standings in columns.items():
        found = answer(standings.families.rows)
        found = "no method is shown to be better than another one" if found == "undecided" else found
        over = counted(len(standings.families.datasets), "data set")
        budgets.setdefault(f"{found} by {title} over {over}", []).append(seconds)
    return [f"With {_seconds(some)}, {found}." for found, some in budgets.items()]


def _seconds(budgets: list[int]) -> str:
    return f"{joined(map(str, budgets))} second{'' if budgets == [1] else 's'}"


def measured(site: Site, series: BudgetSeries, name: str) -> pd.DataFrame:
    """Return scores and times as a data frame with one row per budget, data set and method.

    The columns are budget, dataset, method, score, measured and seconds. The score is the mean over splits, or the
    median if splits are along features. `measured` is the median time of tuning and fit in seconds, NaN if other work
    ran at the same time. `seconds` is `measured`, or the budget where that is NaN.
    """
    found = []
    for budget, preset in series.presets.items():
        chosen = (site.summary["suite"] == series.suite) & (site.summary["preset"] == preset)
        table = site.summary[chosen]
        typical = table["mean"].where(~table["by_median"], table["median"])
        scores = table.assign(score=typical).loc[table["metric"] == name, [*PAIR, "score"]]
        times = table.loc[table["metric"] == "total_seconds", [*PAIR, "median"]].rename(columns={"median": "measured"})
        both = scores.dropna().merge(times, "left", PAIR).astype(dict.fromkeys(PAIR, "str"))
        found.append(both.assign(budget=budget, seconds=both["measured"].fillna(float(budget))))
    return pd.concat(found, ignore_index=True)


def differences(columns: dict[int, Standings], reference: str) -> pd.DataFrame | None:
    """Return each method's mean difference to the reference over data sets, for each budget; None if there is none."""
    rows = [
        (method, float(seconds), 0.0 if method == reference else standing.change.difference)
        for seconds, standings in columns.items()
        if len(standings.families.datasets) > 1
        for method, standing in standings.by_method.items()
    ]
    points = pd.DataFrame(rows, columns=["method", "seconds", "score"]).dropna()
    return points if len(points) and reference else None


def _less(name: str, reference: str) -> str:
    return f"{metric(name).title} minus {visible(reference)}'s"


def _plot(points: pd.DataFrame, methods: list[str], title: str, label: str, key: str) -> Plot:
    ends = points.groupby("method", sort=False).last()
    said = ", ".join(f"{visible(str(method))} {number(float(row['score']), 2)}" for method, row in ends.iterrows())
    return Plot(
        trajectories(points, methods, title, label, key),
        f"{title}: {label} with the largest budget: {said}.",
        f"{label}, {title}, against seconds of tuning and training, on a logarithmic scale.",
    )
