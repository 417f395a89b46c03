"""Strengths and weaknesses of a method, as sentences that state the numbers they rest on."""

from math import isfinite
from typing import NamedTuple

import pandas as pd

from leaderboards.metrics import metric
from leaderboards.site.standings import BEST, Standings, change_in_words
from leaderboards.wording.formats import counted, number, visible

BEYOND = 2.0  # standard errors of the paired difference
FEWEST_SPLITS = 3  # for a standard error to be used
MOST_NAMED = 6  # data sets in a sentence
RUNTIME = "fit_seconds"
NOMINAL = 0.9  # coverage of the intervals that a sentence is about
TOLERANCE = 0.03  # of coverage, beyond which it counts as a weakness


class Measured(NamedTuple):
    """Sentences about one method in one suite and preset."""

    strengths: list[str]
    weaknesses: list[str]
    others: list[str]


def measured(
    method: str, lead: str, by_metric: dict[str, Standings], covered: pd.Series, statuses: list[str]
) -> Measured:
    """Return sentences on the results of a method in one suite and preset.

    Args:
        method: name of the method.
        lead: the metric that orders the suite's methods.
        by_metric: standings by `lead` and, where there are any, by the runtime.
        covered: coverage of the method's 90 % intervals, by data set; may be empty.
        statuses: statuses of the method's cells.
    """
    standings, title = by_metric[lead], metric(lead).title
    sentences = Measured([], [], [])
    if method in standings.by_method:
        _rank(sentences, method, standings, title)
        _relative_to_reference(sentences, method, standings, title)
    _coverage(sentences, covered)
    _failures(sentences, statuses)
    _runtime(sentences, method, by_metric.get(RUNTIME))
    return sentences


def _rank(sentences: Measured, method: str, standings: Standings, title: str) -> None:
    standing = standings.by_method[method]
    n_methods = len(standings.by_method)
    if n_methods == 1:
        return
    span = f" ({standing.rank_low:.1f} to {standing.rank_high:.1f})" if isfinite(standing.rank_low) else ""
    ranked = counted(standing.n_datasets, "data set")
    sentence = f"Mean rank by {title}: {standing.rank:.1f}{span} of {n_methods} methods over {ranked}."
    middle = (n_methods + 1) / 2
    if standing.rank_high < middle:
        sentences.strengths.append(sentence)
    elif standing.rank_low > middle:
        sentences.weaknesses.append(sentence)
    else:
        sentences.others.append(sentence)
    if standings.tested:
        ranks = standings.ranks[standings.ranks["method"] == method]
        best = sorted(ranks.loc[ranks["verdict"].isin(BEST), "dataset"])
        worse = sorted(ranks.loc[ranks["verdict"] == "worse", "dataset"])
        if best:
            where = _named(best, standing.n_datasets)
            sentences.strengths.append(f"Better by {title} than some other method, and worse than none, on {where}.")
        if worse:
            where = _named(worse, standing.n_datasets)
            sentences.weaknesses.append(f"Significantly worse by {title} than some other method on {where}.")


def _relative_to_reference(sentences: Measured, method: str, standings: Standings, title: str) -> None:
    relative = standings.relative
    if relative is None or method == relative.reference:
        return
    changes = relative.by_dataset[relative.by_dataset["method"] == method].dropna(subset="improvement")
    tested = changes[changes["n"] >= FEWEST_SPLITS]
    if tested.empty:
        splits = counted(int(changes["n"].max()), "split") if len(changes) else "no common split"
        sentences.others.append(f"With {splits}, it cannot be compared with {relative.reference}.")
        return
    # A ratio of 1 means no change, and low is good; a difference of 0 means no change, and high is good.
    no_change, sign = (1.0, -1.0) if relative.unit == "times" else (0.0, 1.0)
    gain = sign * (tested["improvement"] - no_change)
    unit = f" {relative.unit}" if relative.unit == "nats" else ""
    for better, into in ((True, sentences.strengths), (False, sentences.weaknesses)):
        beyond = tested[(gain if better else -gain) > BEYOND * tested["stderr"]]
        if beyond.empty:
            continue
        ordered = beyond.loc[gain[beyond.index].sort_values(ascending=not better).index]
        amounts = [
            f"{visible(dataset)} {change_in_words(improvement, relative.unit)}{unit}"
            for dataset, improvement in zip(ordered["dataset"], ordered["improvement"], strict=True)
        ][:MOST_NAMED]
        more = f" and {len(ordered) - MOST_NAMED} more" if len(ordered) > MOST_NAMED else ""
        direction = "Better" if better else "Worse"
        into.append(
            f"{direction} than {relative.reference} by {title}, by more than {BEYOND:.0f} standard errors of the "
            f"paired difference, on {len(ordered)} of {counted(len(tested), 'data set')}: "
            f"{', '.join(amounts)}{more}."
        )


def _coverage(sentences: Measured, covered: pd.Series) -> None:
    if covered.empty:
        return
    mean = covered.mean()
    off = mean - NOMINAL
    verdict = "too narrow" if off < -TOLERANCE else "too wide" if off > TOLERANCE else "about right"
    over = counted(len(covered), "data set")
    sentence = f"90 % intervals cover {100 * mean:.0f} % of test points, mean over {over}: {verdict}."
    (sentences.weaknesses if abs(off) > TOLERANCE else sentences.strengths).append(sentence)


def _failures(sentences: Measured, statuses: list[str]) -> None:
    bad = [status for status in statuses if status != "ok"]
    if bad:
        kinds = ", ".join(f"{bad.count(kind)} {kind}" for kind in sorted(set(bad)))
        sentences.weaknesses.append(f"{len(bad)} of {counted(len(statuses), 'cell')} did not finish: {kinds}.")
    else:
        sentences.strengths.append(f"All {counted(len(statuses), 'cell')} finished.")


def _runtime(sentences: Measured, method: str, standings: Standings | None) -> None:
    standing = standings.by_method.get(method) if standings else None
    if standings is None or standing is None or not isfinite(standing.change):
        return
    low, high = standing.change_low, standing.change_high
    span = f" ({number(low, 2)} to {number(high, 2)})" if isfinite(low) else ""
    sentences.others.append(
        f"The final fit takes {number(standing.change, 2)} times as long as {standings.reference}'s{span}, geometric "
        f"mean over {counted(standing.n_datasets - standing.n_failed - standing.n_not_run, 'data set')}."
    )


def _named(names: list[str], of: int) -> str:
    """Return data sets as in "3 of 8 data sets: a, b, c"."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{len(names)} of {counted(of, 'data set')}: {', '.join(map(visible, names[:MOST_NAMED]))}{more}"
