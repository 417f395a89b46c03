"""Numbers as LaTeX, and tables for the package booktabs."""

import re
from collections.abc import Sequence

from lockstep_bench.leaderboards.stats.ranking import Ranked
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.leaderboards.tables import ranking_numbers
from lockstep_bench.leaderboards.tables.latex import escaped


def text(plain: str) -> str:
    """Return a text with a number as LaTeX: true minus signs, and per cent after a thin space."""
    return escaped(plain.replace("-", "−") if re.search(r"-\d", plain) else plain).replace(r" \%", r"\,\%")


def code(name: str) -> str:
    """Return the name of a method or a data set as LaTeX."""
    return rf"\texttt{{{escaped(name)}}}"


def effect(row: Ranked, unit: str) -> str:
    """Return a difference to the reference with its 95 % interval: "$-$0.40 ($-$0.76 to $-$0.04)"."""
    return text(f"{ranking_numbers.difference(row, unit)} ({ranking_numbers.interval(row, unit)})")


def entry(row: Ranked | None, unit: str, reference: str) -> str:
    """Return a difference for a table, bold if its method leads; 0 for the reference, and a dash for no value."""
    if row is None:
        return "--"
    shown = "0" if row.method.partition(" · ")[0] == reference else effect(row, unit)
    return rf"\textbf{{{shown}}}" if row.verdict in AHEAD else shown


def table(columns: str, head: Sequence[str], groups: Sequence[Sequence[Sequence[str]]], sources: Sequence[str]) -> str:
    """Return a `tabular` environment.

    Args:
        columns: its column specification.
        head: its headings.
        groups: lines of the table in groups, with a rule between them.
        sources: commands or documents that have the same numbers, as comments.
    """
    bodies = ["\n".join(" & ".join(line) + r" \\" for line in group) for group in groups]
    return "\n".join(
        [
            *(f"% {source}" for source in sources),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            "\n\\midrule\n".join(bodies),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )
