"""The ledger of disputed numbers as text: Markdown for `docs/ledger.md`, lines for the page Replications."""

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from lockstep_bench.leaderboards.replications.judgement import Estimate
from lockstep_bench.leaderboards.replications.ledger import EXPLAINED, Dispute, Number, Settled
from lockstep_bench.leaderboards.wording.formats import as_printed, counted, decimals_for, number

SPREAD_WORDS = {"stderr": "", "sd": " (standard deviation)", "": ""}


class LedgerLine(NamedTuple):
    """A disputed number with its verdict, formatted for printing.

    Attributes:
        dispute: the dispute.
        printed: the printed number with its spread.
        found: numbers of others with their spreads.
        ours: value of the first reading.
        readings: pairs (label, value) of all readings.
        verdict: the verdict in words, with the explanation.
        sources: pairs (who printed a number, address).
    """

    dispute: Dispute
    printed: str
    found: list[str]
    ours: str
    readings: list[tuple[str, str]]
    verdict: str
    sources: list[tuple[str, str]]


def ledger_line(one: Settled) -> LedgerLine:
    """Return a disputed number, its verdict and its explanation as text."""
    dispute = one.dispute
    values = [_measured(value) for value in one.estimates]
    sources = [(each.by, each.source) for each in (dispute.printed, *dispute.found)]
    sources += [("where it is doubted", dispute.thread)] if dispute.thread else []
    return LedgerLine(
        dispute,
        printed(dispute.printed),
        [printed(each) for each in dispute.found],
        values[0],
        [(reading.label, value) for reading, value in zip(dispute.readings, values, strict=True)],
        f"explained: {one.explanation}" if one.verdict == EXPLAINED else one.verdict,
        list(dict.fromkeys(sources)),
    )


def printed(one: Number) -> str:
    """Return a published number and its spread as text, with the digits that the publication prints."""
    value, spread = as_printed(one.value, one.spread)
    return f"{value} ± {spread}{SPREAD_WORDS[one.kind]}" if spread else value


def markdown(settled: Sequence[Settled]) -> str:
    """Return the generated part of `docs/ledger.md`: a table of all disputes, then a section for each."""
    if not settled:
        return "No disputed number has all its rows in these results.\n"
    lines = [ledger_line(one) for one in settled]
    rows = [
        f"| [{line.dispute.title}](#{line.dispute.name}) | {line.printed} | {', '.join(line.found)} | {line.ours} "
        f"| {line.verdict} |"
        for line in lines
    ]
    head = ["| number | printed | others | ours | verdict |", "|---|---|---|---|---|"]
    return "\n".join([tally(settled), "", *head, *rows, "", *(_section(line) for line in lines)]).rstrip() + "\n"


def tally(settled: Sequence[Settled]) -> str:
    """Return how many disputes have each verdict, in a sentence."""
    count = Counter(one.verdict for one in settled)
    return f"{counted(len(settled), 'number')}: {', '.join(f'{n} {verdict}' for verdict, n in count.most_common())}."


def _section(line: LedgerLine) -> str:
    dispute, readings = line.dispute, [f"- {label}: {value}" for label, value in line.readings]
    sources = [f"[{by}]({address})" for by, address in line.sources]
    parts = [
        f"## {dispute.name}",
        f"{dispute.title}, printed as {line.printed}: **{line.verdict}**. {dispute.about}",
        f"    {dispute.command}",
        "\n".join(readings),
        f"Sources: {'; '.join(sources)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _measured(value: Estimate) -> str:
    decimals = decimals_for(value.value, value.stderr)
    spread = f" ± {number(value.stderr, decimals)}" if isfinite(value.stderr) else ""
    return f"{number(value.value, decimals)}{spread} ({counted(int(value.n), 'split')})"
