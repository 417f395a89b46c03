"""Sentences on the strengths and weaknesses of a method, with the numbers that they are based on."""

from math import isfinite, isnan
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.leaderboards.wording.formats import counted, difference_in_words, listed, number, visible

MOST_NAMED = 6  # data sets in a sentence
RUNTIME = "total_seconds"
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
        by_metric: standings by `lead`, and by runtime if there are any.
        covered: coverage of the method's 90 % intervals, by data set; may be empty.
        statuses: statuses of the method's cells.
    """
    standings, title = by_metric[lead], metric(lead).phrase
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
    if len(standings.by_method) == 1:
        return
    n_methods = len(standings.families.rows)
    if (place := standing.place) and n_methods > 1:
        of = f"{n_methods} methods, one of each family"
        sentence = (
            f"Rank by {title}: {place.mean_rank:g} of {of}, on one data set; "
            if place.n_datasets == 1
            else f"Mean rank by {title}: {place.mean_rank:.1f} of {of}, over {place.n_datasets} data sets; "
        )
        open_ranks = f"ranks {place.rank_low} to {place.rank_high} are left open"
        sentence += f"{open_ranks if place.rank_low < place.rank_high else 'no other is left open'}."
        middle = (n_methods + 1) / 2
        if place.rank_high < middle:
            sentences.strengths.append(sentence)
        elif place.rank_low > middle:
            sentences.weaknesses.append(sentence)
        else:
            sentences.others.append(sentence)
    elif standing.representative:
        sentences.others.append(
            f"Rankings over data sets have one method of each family, {visible(standing.representative)} in this one's "
            "place: the variant with the best validation score."
        )
    if standings.tested:
        places = standings.places.get(method, {})
        best = sorted(dataset for dataset, row in places.items() if row.verdict in AHEAD)
        worse = sorted(dataset for dataset, row in places.items() if row.verdict == "worse")
        if best:
            where = _named(best, standing.n_datasets)
            sentences.strengths.append(
                f"Significantly better by {title} than another method, and no method is significantly better, "
                f"on {where}."
            )
        if worse:
            where = _named(worse, standing.n_datasets)
            sentences.weaknesses.append(f"Significantly worse by {title} than another method on {where}.")


def _relative_to_reference(sentences: Measured, method: str, standings: Standings, title: str) -> None:
    reference, unit = standings.reference, standings.unit
    if not reference or method == reference:
        return
    places = {dataset: row for dataset, row in standings.places.get(method, {}).items() if not isnan(row.low)}
    if not places:
        sentences.others.append(f"There are too few common splits for a comparison with {reference}.")
        return
    in_unit = " nats" if unit == "nats" else ""
    high_is_better = standings.table.goal == "high"
    for better, into in ((True, sentences.strengths), (False, sentences.weaknesses)):
        above = better == high_is_better
        beyond = {dataset: row for dataset, row in places.items() if (row.low > 0 if above else row.high < 0)}
        if not beyond:
            continue
        ordered = sorted(beyond, key=lambda dataset: -abs(beyond[dataset].difference))
        amounts = [
            f"{visible(dataset)} {difference_in_words(beyond[dataset].difference, unit)}{in_unit}"
            for dataset in ordered
        ]
        direction = "Better" if better else "Worse"
        into.append(
            f"{direction} than {reference} by {title} on {_share(len(ordered), len(places))}, where the 95 % interval "
            f"of the difference excludes 0: {listed(amounts, MOST_NAMED)}."
        )


def _coverage(sentences: Measured, covered: pd.Series) -> None:
    if covered.empty:
        return
    mean = covered.mean()
    off = mean - NOMINAL
    verdict = "too narrow" if off < -TOLERANCE else "too wide" if off > TOLERANCE else "about right"
    over = "on one data set" if len(covered) == 1 else f"mean over {len(covered)} data sets"
    sentence = f"90 % intervals cover {100 * mean:.0f} % of test points, {over}: {verdict}."
    (sentences.weaknesses if abs(off) > TOLERANCE else sentences.strengths).append(sentence)


def _failures(sentences: Measured, statuses: list[str]) -> None:
    bad = [status for status in statuses if status != "ok"]
    if bad:
        kinds = ", ".join(f"{bad.count(kind)} {kind}" for kind in sorted(set(bad)))
        sentences.weaknesses.append(f"{len(bad)} of {counted(len(statuses), 'cell')} did not finish: {kinds}.")
    else:
        sentences.strengths.append(
            "The only cell finished." if len(statuses) == 1 else f"All {len(statuses)} cells finished."
        )


def _runtime(sentences: Measured, method: str, standings: Standings | None) -> None:
    standing = standings.by_method.get(method) if standings else None
    if standings is None or standing is None or not isfinite(standing.change.difference):
        return
    times, low, high = (1 + x for x in (standing.change.difference, standing.change.low, standing.change.high))
    span = f" ({number(low, 2)} to {number(high, 2)})" if isfinite(low) else ""
    sentences.others.append(
        f"Tuning and the final fit take {number(times, 2)} times as long as {standings.reference}'s{span}, geometric "
        f"mean over {counted(standing.change.n_compared, 'split' if standing.change.n_datasets == 1 else 'data set')}."
    )


def _named(names: list[str], of: int) -> str:
    """Return data sets as in "3 of 8 data sets: a, b, c"."""
    return f"{_share(len(names), of)}: {listed(list(map(visible, names)), MOST_NAMED)}"


def _share(n: int, of: int) -> str:
    return "the only data set" if of == 1 else f"{n} of {of} data sets"
