"""The verdict at the top of the index: two sentences, and a table with one method of each family."""

from collections.abc import Sequence
from math import isnan, nan
from typing import NamedTuple

from markupsafe import Markup

from lockstep_bench.leaderboards.figures import forest
from lockstep_bench.leaderboards.figures.axis import Axis
from lockstep_bench.leaderboards.figures.forest import ForestEstimate
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.site.content import Site
from lockstep_bench.leaderboards.site.pages.verdict_columns import VerdictColumn, columns
from lockstep_bench.leaderboards.site.standings import Standings
from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.stats.paired import failures_in_words
from lockstep_bench.leaderboards.stats.verdicts import AHEAD, VERDICTS
from lockstep_bench.leaderboards.tables import ranking_numbers
from lockstep_bench.leaderboards.wording.formats import counted, joined, listed, visible

MOST_ROWS, MOST_NAMED = 10, 4


class VerdictLine(NamedTuple):
    """One method's line in the table of the verdict.

    Attributes:
        place: row of the method in the ranking.
        failed: text on failed splits, as in "1 of 205 splits failed: protein 3"; "" if none failed.
        bar: SVG of the difference to the reference and its interval.
        numbers: one text per column; "" if there is no number.
    """

    place: Ranked
    failed: str
    bar: Markup
    numbers: list[str]


class Verdict(NamedTuple):
    """The verdict of a suite and preset as the index prints it: sentences, and a table of methods.

    Attributes:
        sentences: sentences on the methods that lead, and on those that differ from the reference.
        unit: unit of differences to the reference (`Ranking.unit`).
        columns: the columns after the difference to the reference.
        lines: lines of the methods, the best mean rank first: at most `MOST_ROWS`, including the reference.
        left_out: number of methods without a line.
    """

    sentences: list[str]
    unit: str
    columns: list[VerdictColumn]
    lines: list[VerdictLine]
    left_out: int


def verdict(site: Site, suite: str, preset: str, standings: Standings, evidence: str) -> Verdict:
    """Return the verdict of a suite and preset by the metric of its standings.

    Args:
        site: all results.
        suite: name of the suite.
        preset: label of the preset.
        standings: standings by the leading metric.
        evidence: amount of data behind the ranking, as in "18 data sets, 20 splits each".
    """
    ranking = standings.families
    shown = _shown(ranking.rows, standings.reference)
    beside = columns(site, suite, preset, standings)
    axis = Axis(*forest.span(forest.ForestColumn("", [estimate(row, standings.reference) for row in shown], 0.0)))
    return Verdict(
        [_leaders(ranking.rows, standings, evidence), *against_reference(ranking.rows, standings)],
        standings.unit,
        beside,
        [
            VerdictLine(
                row,
                _failed(row, standings),
                forest.alone(estimate(row, standings.reference), axis, row.verdict in AHEAD),
                [column.texts.get(row.method, "") for column in beside],
            )
            for row in shown
        ],
        len(ranking.rows) - len(shown),
    )


def _shown(rows: Sequence[Ranked], reference: str) -> list[Ranked]:
    """Return the first rows; if the reference is not among them, it replaces the last one."""
    first = list(rows[:MOST_ROWS])
    later = [row for row in rows[MOST_ROWS:] if row.method == reference]
    return [*first[: MOST_ROWS - len(later)], *later]


def _failed(row: Ranked, standings: Standings) -> str:
    """Return which splits failed of the data sets that the ranking is over; "" for none."""
    failures = standings.table.failures(row.method)
    here = {dataset: splits for dataset, splits in failures.items() if dataset in standings.families.datasets}
    return f"failed on {failures_in_words(here, row.n_splits)}" if row.n_failed else ""


def estimate(row: Ranked, reference: str) -> ForestEstimate:
    """Return a method's difference to the reference with its interval, for a forest plot."""
    return (
        ForestEstimate(0.0, nan, nan) if row.method == reference else ForestEstimate(row.difference, row.low, row.high)
    )


def _leaders(rows: Sequence[Ranked], standings: Standings, evidence: str) -> str:
    """Return the sentence on which methods lead."""
    by = {kind: [row.method for row in rows if row.verdict == kind] for kind in VERDICTS}
    where = f"By {metric(standings.table.metric).phrase}, over {evidence},"
    of = f"{counted(len(rows), 'method')}, one of each family"
    if by["best"]:
        return f"{where} {_named(by['best'])} is the best of {of}: it beats every other one significantly."
    leaders, worse, failed, undecided = by["could be best"], *(len(by[k]) for k in ("worse", "failed", "undecided"))
    if not leaders and not worse:
        unfinished = f"; {failed} failed on some split" if failed else ""
        return f"{where} none of {of}, is shown to beat another one: there is too little evidence{unfinished}."
    rest = [
        f"{worse} {'is' if worse == 1 else 'are'} beaten significantly by at least one" if worse else "",
        f"{failed} failed on some split" if failed else "",
        f"there is too little evidence on {undecided}" if undecided else "",
    ]
    if not leaders:
        return f"{where} no method is ahead of {of}: {joined(rest)}."
    each = "it beats" if len(leaders) == 1 else "each beats"
    them = "it" if len(leaders) == 1 else "them"
    return (
        f"{where} {_named(leaders)} could be the best of {of}: {each} at least one other significantly, and none beats "
        f"{them}; {joined(rest)} (95 % for all comparisons together)."
    )


def against_reference(rows: Sequence[Ranked], standings: Standings) -> list[str]:
    """Return the sentence on intervals of differences to the reference; [] without a reference."""
    if not standings.reference:
        return []
    reference = f"`{visible(standings.reference)}`"
    others = [row for row in rows if row.method != standings.reference]
    compared = [row for row in others if not isnan(row.low)]
    failed = len(others) - len(compared)
    without = f"; {counted(failed, 'method')} that failed {'has' if failed == 1 else 'have'} none" if failed else ""
    if not compared:
        return [f"There are no intervals of differences to {reference}, which has no value on some split."]
    below, above = [row for row in compared if row.high < 0], [row for row in compared if row.low > 0]
    if not (below or above):
        return [
            f"No method is shown to differ from {reference}: all 95 % intervals of the difference, of each method by "
            f"itself, include 0{without}."
        ]
    better, worse = (above, below) if standings.table.goal == "high" else (below, above)
    unit = " nats" if standings.unit == "nats" else ""
    parts = []
    for word, beyond in (("better", better), ("worse", worse)):
        named = sorted(beyond, key=lambda row: -abs(row.difference))
        amounts = [
            f"`{visible(row.method)}` ({ranking_numbers.difference(row, standings.unit)}{unit}{_over_fewer(row)})"
            for row in named
        ]
        parts.append(f"{word}: {_shortened(amounts) if amounts else 'none'}")
    return [
        f"The 95 % interval of the difference to {reference}, of each method by itself and not adjusted for their "
        f"number, excludes 0 for {len(better) + len(worse)} of {len(compared)} ({'; '.join(parts)}){without}."
    ]


def _over_fewer(row: Ranked) -> str:
    """Return a text with the number of data sets behind a difference, if the method or the reference failed on some."""
    return f" over {counted(row.n_compared, 'data set')}" if row.n_compared < row.n_datasets else ""


def _named(names: Sequence[str]) -> str:
    return _shortened([f"`{visible(name)}`" for name in names])


def _shortened(parts: Sequence[str]) -> str:
    return listed(parts, MOST_NAMED) if len(parts) > MOST_NAMED else joined(parts)
