"""Strengths and weaknesses of a method as sentences, each made of the numbers that say so and of nothing else."""

from math import isfinite
from typing import NamedTuple

import pandas as pd

from leaderboards.metrics import metric
from leaderboards.site.standings import Standings, change_in_words
from leaderboards.wording.formats import counted, number, visible

BEYOND = 2.0  # standard errors of the paired difference
FEWEST = 3  # splits of which a standard error tells anything
LONG = 6  # data sets that a sentence names
RUNTIME, COVERAGE = "fit_seconds", "coverage_90"
OFF = 0.03  # of coverage, from where it is a weakness


class Measured(NamedTuple):
    """Sentences."""

    strengths: list[str]
    weaknesses: list[str]
    others: list[str]


def measured(
    method: str, lead: str, by_metric: dict[str, Standings], covered: pd.Series, statuses: list[str]
) -> Measured:
    """What the numbers of one suite and preset say about a method.

    Args:
        lead: the metric that the suite's methods are ordered by.
        by_metric: standings by `lead` and, where there are any, by the runtime.
        covered: the share of test points inside its 90 % intervals, by data set; may be empty.
        statuses: how its cells ended.
    """
    standings, title = by_metric[lead], metric(lead).title
    found = Measured([], [], [])
    if method in standings.lines:
        _place(found, method, standings, title)
        _against(found, method, standings, title)
    _coverage(found, covered)
    _failures(found, statuses)
    _runtime(found, method, by_metric.get(RUNTIME))
    return found


def _place(found: Measured, method: str, standings: Standings, title: str) -> None:
    line, own = standings.lines[method], standings.places[standings.places["method"] == method]
    n_methods = len(standings.lines)
    if n_methods == 1:
        return
    span = f" ({line.rank_low:.1f} to {line.rank_high:.1f})" if isfinite(line.rank_low) else ""
    ranked = counted(line.n_datasets, "data set")
    sentence = f"By {title} its mean rank is {line.rank:.1f}{span} of {n_methods} methods over {ranked}."
    middle = (n_methods + 1) / 2
    into = found.strengths if line.rank_high < middle else found.weaknesses if line.rank_low > middle else found.others
    into.append(sentence)
    if standings.told:
        first = sorted(own.loc[own["standing"].isin(["best", "tied"]), "dataset"])
        if first:
            found.strengths.append(f"Best by {title}, or not told from the best, on {_named(first, line.n_datasets)}.")
        else:
            found.weaknesses.append(f"By {title} it is nowhere the best nor tied with it, of {ranked}.")


def _against(found: Measured, method: str, standings: Standings, title: str) -> None:
    against = standings.against
    if against is None or method == against.reference:
        return
    own = against.by_dataset[against.by_dataset["method"] == method].dropna(subset="improvement")
    told = own[own["n"] >= FEWEST]
    if told.empty:
        splits = counted(int(own["n"].max()), "split") if len(own) else "no common split"
        found.others.append(f"With {splits} nothing can be said of it against {against.reference}.")
        return
    # Of ratios low is good and 1 means alike; of differences high is good and 0 does.
    alike, sign = (1.0, -1.0) if against.unit == "times" else (0.0, 1.0)
    gain = sign * (told["improvement"] - alike)
    unit = f" {against.unit}" if against.unit == "nats" else ""
    for better, into in ((True, found.strengths), (False, found.weaknesses)):
        beyond = told[(gain if better else -gain) > BEYOND * told["stderr"]]
        if beyond.empty:
            continue
        ordered = beyond.loc[gain[beyond.index].sort_values(ascending=not better).index]
        amounts = [
            f"{visible(row.dataset)} {change_in_words(row.improvement, against.unit)}{unit}"
            for row in ordered.head(LONG).itertuples()
        ]
        more = f" and {len(ordered) - LONG} more" if len(ordered) > LONG else ""
        into.append(
            f"{'Better' if better else 'Worse'} than {against.reference} by {title} beyond {BEYOND:.0f} standard "
            f"errors of the paired difference on {len(ordered)} of {counted(len(told), 'data set')}: "
            f"{', '.join(amounts)}{more}."
        )


def _coverage(found: Measured, covered: pd.Series) -> None:
    if covered.empty:
        return
    mean = covered.mean()
    off = mean - metric(COVERAGE).goal
    said = "too narrow" if off < -OFF else "too wide" if off > OFF else "about right"
    over = counted(len(covered), "data set")
    sentence = f"Its 90 % intervals hold {100 * mean:.0f} % of test points, mean over {over}: {said}."
    (found.weaknesses if abs(off) > OFF else found.strengths).append(sentence)


def _failures(found: Measured, statuses: list[str]) -> None:
    bad = [status for status in statuses if status != "ok"]
    if bad:
        kinds = ", ".join(f"{bad.count(kind)} {kind}" for kind in sorted(set(bad)))
        found.weaknesses.append(f"{len(bad)} of {counted(len(statuses), 'cell')} did not finish: {kinds}.")
    else:
        found.strengths.append(f"All {counted(len(statuses), 'cell')} finished.")


def _runtime(found: Measured, method: str, standings: Standings | None) -> None:
    line = standings.lines.get(method) if standings else None
    if line is None or not isfinite(line.change):
        return
    span = f" ({number(line.change_low, 2)} to {number(line.change_high, 2)})" if isfinite(line.change_low) else ""
    found.others.append(
        f"Its final fit takes {number(line.change, 2)} times as long as {standings.reference}'s{span}, geometric mean "
        f"over {counted(line.n_datasets - line.lacking - line.absent, 'data set')}."
    )


def _named(names: list[str], of: int) -> str:
    """ "3 of 8 data sets: a, b, c"."""
    shown = ", ".join(map(visible, names[:LONG])) + (f" and {len(names) - LONG} more" if len(names) > LONG else "")
    return f"{len(names)} of {counted(of, 'data set')}: {shown}"
