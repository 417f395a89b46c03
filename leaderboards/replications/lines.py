"""Comparisons of published and measured numbers as text, for pages and terminals."""

from math import isfinite, isnan
from typing import NamedTuple

from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.replications.claims import ClaimTest
from lockstep_bench.leaderboards.replications.comparison import Compared, Replication
from lockstep_bench.leaderboards.replications.judgement import DIFFERS, RULES, Estimate
from lockstep_bench.leaderboards.wording.formats import as_printed, counted, decimals_for, listed, number

MOST_NAMED = 4  # numbers that a sentence names


class Line(NamedTuple):
    """A published number and the measured one, formatted for printing; every text may be empty.

    Attributes:
        dataset, method: names of the data set and the method.
        metric: title of the quantity.
        meaning: explanation of the quantity in one sentence.
        theirs, their_stderr: published number and its standard error, as the paper prints them.
        their_n: number of splits or runs behind the published number, in words.
        ours, stderr: measured number and its standard error, as printed.
        n: number of splits behind the measured number, in words.
        difference: measured minus published, in joint standard errors, or in percent of the published number.
        verdict: "agrees", or "higher" or "lower" for the measured number relative to the published one, or "".
        marked: whether the two differ significantly after Holm's correction for all numbers of the table or figure.
        rule: how the numbers were compared, if not by the usual rule.
        missing: splits that the measured number lacks, in words.
    """

    dataset: str
    method: str
    metric: str
    meaning: str
    theirs: str
    their_stderr: str
    their_n: str
    ours: str
    stderr: str
    n: str
    difference: str
    verdict: str
    marked: bool
    rule: str
    missing: str

    @property
    def name(self) -> str:
        """Names of data set, method and metric, joined."""
        return f"{self.dataset} {self.method} {self.metric}"


def line(row: Compared) -> Line:
    """Return a comparison of a published with a measured number, formatted for printing."""
    title, _, meaning = metric(row.metric)
    if row.statistic == "ratio":
        title = f"{title}, × {row.over}"
        theirs, their_stderr = number(row.theirs.value, 2), ""
    else:
        title += ", median" if row.statistic == "median" else ""
        theirs, their_stderr = as_printed(row.theirs.value, row.theirs.stderr)
    ours, stderr = _measured(row)
    return Line(
        row.dataset,
        row.method,
        title,
        meaning,
        theirs,
        their_stderr,
        _counted(row.theirs),
        ours,
        stderr,
        _counted(row.ours),
        _difference(row),
        _verdict(row),
        row.differs,
        RULES[row.judgement.rule] if row.judgement else "",
        row.missing,
    )


def not_compared(replication: Replication) -> list[str]:
    """Return why published numbers were not compared, as in "2 numbers not run: wine vifa NMLL, wine map NMLL"."""
    by_reason: dict[str, list[str]] = {}
    for row in replication.compared:
        if row.reason:
            by_reason.setdefault(row.reason, []).append(line(row).name)
    return [
        f"{counted(len(names), 'number')}, {reason}: {listed(names, MOST_NAMED, '; ')}"
        for reason, names in by_reason.items()
    ]


def in_words(replication: Replication) -> str:
    """Return the verdict on a replicated table or figure in words, or how it was checked without results.

    After a verdict on numbers and claims, like "agrees; claims: 2 hold", the text states how many of its runs (one
    method on one data set) lack splits, if any do.
    """
    if replication.status != "run":
        return {"test": "checked by a test"}.get(replication.status, replication.status)
    claims = replication.verdict_on_claims
    parts = [replication.verdict, f"claims: {claims}" if claims else ""]
    verdict = "; ".join(filter(None, parts)) or "nothing to compare"
    return f"{verdict}; {counted(len(replication.gaps), 'run')} not complete" if replication.gaps else verdict


def claim_numbers(test: ClaimTest) -> tuple[str, str, str, str]:
    """Return the left value, the right value, their difference and its standard error ("" if unknown), as printed."""
    decimals = decimals_for(test.difference or test.left, test.stderr)
    left, right, difference = (number(value, decimals) for value in (test.left, test.right, test.difference))
    return left, right, difference, "" if isnan(test.stderr) else number(test.stderr, decimals)


def gaps_in_words(replication: Replication) -> str:
    """Return what is missing from a replication's runs, as in "energy vifa: not complete: 12 of 20"; "" if none."""
    by_words: dict[str, list[str]] = {}
    for gap in replication.gaps:
        by_words.setdefault(gap.missing, []).append(f"{gap.dataset} {gap.method}")
    return "; ".join(f"{words} ({', '.join(cells)})" for words, cells in by_words.items())


def _measured(row: Compared) -> tuple[str, str]:
    """Return the measured number and its standard error with two significant digits of the latter, "" for none."""
    if isnan(row.ours.value):
        return "", ""
    theirs = row.theirs.stderr if isnan(row.ours.stderr) else row.ours.stderr
    decimals = 2 if row.statistic == "ratio" else decimals_for(row.ours.value, theirs)
    return number(row.ours.value, decimals), "" if isnan(row.ours.stderr) else number(row.ours.stderr, decimals)


def _counted(estimate: Estimate) -> str:
    return f"n = {estimate.n:.0f}" if isfinite(estimate.n) else ""


def _difference(row: Compared) -> str:
    if row.judgement is None:
        return ""
    if not isnan(row.judgement.difference):
        return _signed(row.judgement.difference, 1)
    return "" if isnan(row.judgement.relative) else f"{_signed(100 * row.judgement.relative, 1)} %"


def _signed(value: float, decimals: int) -> str:
    text = number(value, decimals)
    return text if text.startswith("−") or not text.strip("0.") else f"+{text}"


def _verdict(row: Compared) -> str:
    if row.verdict != DIFFERS:
        return row.verdict if row.judgement else ""
    return "higher" if row.ours.value > row.theirs.value else "lower"
