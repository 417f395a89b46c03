"""Tables as GitHub's Markdown."""

import re
from math import isnan

from leaderboards.tables.layout import Entry, Table
from leaderboards.wording.formats import number, visible


def markdown(tables: list[Table]) -> str:
    """A caption and a table for each of `tables`; names are escaped."""
    return "\n".join(map(_table, tables))


def escaped(text: str) -> str:
    r"""`text` as Markdown prints it, inside a table as well."""
    flat = visible(text).replace("\n", " ")
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", flat)


def _table(table: Table) -> str:
    head, body, foot = table.lines(escaped, _entry, "–")
    ruler = ["---", *["---:"] * (len(head) - 1)]
    lines = [head, ruler, *body, *([foot] if foot else [])]
    caption = escaped(table.caption("±", "Bold", "≈"))
    return "\n".join([caption, "", *(f"| {' | '.join(line)} |" for line in lines), ""])


def _entry(entry: Entry, remark: str) -> str:
    shown = number(entry.mean, entry.decimals)
    if not isnan(entry.stderr):
        shown += f" ± {number(entry.stderr, entry.decimals)}"
    shown = {"best": f"**{shown}**", "tied": f"≈ {shown}"}.get(entry.standing, shown)
    return f"{shown} ({remark})" if remark else shown
