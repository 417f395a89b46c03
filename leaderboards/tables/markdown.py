"""Tables in GitHub's Markdown."""

import re
from math import isnan

from lockstep_bench.leaderboards.tables.layout import LayoutTable, TableEntry
from lockstep_bench.leaderboards.wording.formats import number, visible


def markdown(tables: list[LayoutTable]) -> str:
    """Return the caption and the Markdown of each table; names are escaped."""
    return "\n".join(map(_table, tables))


def escaped(text: str) -> str:
    r"""Return the text with Markdown's special characters escaped, including those that are special inside a table."""
    flat = visible(text).replace("\n", " ")
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", flat)


def _table(table: LayoutTable) -> str:
    head, body, foot = table.lines(escaped, _entry, "–")
    ruler = ["---", *["---:"] * (len(head) - 1)]
    lines = [head, ruler, *body, *([foot] if foot else [])]
    caption = escaped(table.caption("±", "Bold", "≈"))
    return "\n".join([caption, "", *(f"| {' | '.join(line)} |" for line in lines), ""])


def _entry(entry: TableEntry, remark: str) -> str:
    shown = number(entry.mean, entry.decimals)
    if not isnan(entry.stderr):
        shown += f" ± {number(entry.stderr, entry.decimals)}"
    shown = {"best": f"**{shown}**", "could be best": f"≈ {shown}"}.get(entry.verdict, shown)
    shown += entry.signs
    return f"{shown} ({remark})" if remark else shown
