"""The verdict with which the index begins: two sentences, and a table with one method of each family."""

from collections.abc import Sequence
from math import isnan, nan
from typing import NamedTuple

from markupsafe import Markup

from leaderboards.figures import forest
from leaderboards.figures.axis import Axis
from leaderboards.figures.forest import Estimate
from leaderboards.metrics import metric
from leaderboards.site.content import Site
from leaderboards.site.pages.verdict_columns import Column, columns
from leaderboards.site.standings import Standings
from leaderboards.stats import Ranked
from leaderboards.stats.placing import AHEAD
from leaderboards.tables import places
from leaderboards.wording.formats import counted, visible

MOST_ROWS, MOST_NAMED = 10, 4


class Line(NamedTuple):
    """One method.

    Attributes:
        place: its row of the ranking.
        bar: SVG of the difference to the reference and its interval.
        numbers: one text per column; "" where there is no number.
    """

    place: Ranked
    bar: Markup
    numbers: list[str]


class Verdict(NamedTuple):
    """What the results say.

    Attributes:
        sentences: which methods lead, and which differ from the reference.
        unit: of differences to the reference (`Ranking.unit`).
        columns: those after the difference to the reference.
        lines: methods, the best mean rank first; at most `MOST_ROWS`, the reference among them.
        left_out: number of methods that have no line.
    """

    sentences: list[str]
    unit: str
    columns: list[Column]
    lines: list[Line]
    left_out: int


def verdict(site: Site, suite: str, preset: str, standings: Standings, evidence: str) -> Verdict:
    """Return the verdict of a suite and preset by the metric of its standings.

    Args:
        site: all results.
        suite: name of the suite.
        preset: label of the preset.
        standings: by the leading metric.
        evidence: as in "18 data sets, 20 splits each".
    """
    ranking = standings.families
    shown = _shown(ranking.rows, standings.reference)
    beside = columns(site, suite, preset, standings)
    axis = Axis(*forest.span(forest.Column("", [_estimate(row, standings.reference) for row in shown], 0.0)))
    return Verdict(
        [_leaders(ranking.rows, standings, evidence), *_against_reference(ranking.rows, standings)],
        standings.unit,
        beside,
        [
            Line(
                row,
                forest.alone(_estimate(row, standings.reference), axis, row.verdict in AHEAD),
                [column.texts.get(row.method, "") for column in beside],
            )
            for row in shown
        ],
        len(ranking.rows) - len(shown),
    )


def _shown(rows: Sequence[Ranked], reference: str) -> list[Ranked]:
    """Return the first methods, the last of which gives its place to the reference if that comes later."""
    first = list(rows[:MOST_ROWS])
    later = [row for row in rows[MOST_ROWS:] if row.method == reference]
    return [*first[: MOST_ROWS - len(later)], *later]


def _estimate(row: Ranked, reference: str) -> Estimate:
    return Estimate(0.0, nan, nan) if row.method == reference else Estimate(row.difference, row.low, row.high)


def _leaders(rows: Sequence[Ranked], standings: Standings, evidence: str) -> str:
    """Return the sentence on places."""
    by = {kind: [row.method for row in rows if row.verdict == kind] for kind in ("best", "could be best")}
    title, of = metric(standings.table.metric).title, counted(len(rows), "method")
    where = f"By {title}, over {evidence}"
    if by["best"]:
        return f"{where}, {_named(by['best'])} is the best of {of}, one of each family: all others are worse."
    counts = {kind: sum(row.verdict == kind for row in rows) for kind in ("worse", "undecided", "failed")}
    worse, failed, undecided = (counts[kind] for kind in ("worse", "failed", "undecided"))
    rest = [
        f"{worse} {'is' if worse == 1 else 'are'} significantly worse than some other one" if worse else "",
        f"{failed} failed on some split" if failed else "",
        f"the results leave the {'place' if undecided == 1 else 'places'} of {undecided} open" if undecided else "",
    ]
    if not by["could be best"]:
        return f"{where}, no method of {of}, one of each family, is significantly better than another one."
    could = _named(by["could be best"])
    return f"{where}, {could} could be the best of {of}, one of each family; {_listed(rest)}."


def _against_reference(rows: Sequence[Ranked], standings: Standings) -> list[str]:
    """Return the sentence on intervals of differences to the reference; [] without a reference."""
    reference = standings.reference
    if not reference:
        return []
    compared = [row for row in rows if not isnan(row.low)]
    beyond = {"above": [row for row in compared if row.low > 0], "below": [row for row in compared if row.high < 0]}
    if not any(beyond.values()):
        return [
            f"No method differs from `{visible(reference)}` for certain: all 95 % intervals of the difference hold 0."
        ]
    better = "above" if standings.table.goal == "high" else "below"
    parts = []
    for side, word in ((better, "better"), ({"above": "below", "below": "above"}[better], "worse")):
        named = sorted(beyond[side], key=lambda row: -abs(row.difference))
        unit = " nats" if standings.unit == "nats" else ""
        amounts = [f"`{visible(row.method)}` ({places.difference(row, standings.unit)}{unit})" for row in named]
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        parts.append(f"{word}: {', '.join(amounts[:MOST_NAMED])}{more}" if named else f"{word}: none")
    return [
        f"Against `{visible(reference)}` the 95 % interval of the difference, of each method by itself, excludes 0 for "
        f"{sum(map(len, beyond.values()))} of {len(compared)} ({'; '.join(parts)})."
    ]


def _named(names: Sequence[str]) -> str:
    quoted = [f"`{visible(name)}`" for name in names]
    more = len(quoted) - MOST_NAMED
    return _listed([*quoted[:MOST_NAMED], f"{more} more"] if more > 0 else quoted)


def _listed(parts: Sequence[str]) -> str:
    """Return the parts that are not empty as in "a, b and c"."""
    *before, last = filter(None, parts)
    return f"{', '.join(before)} and {last}" if before else last
