"""Tables of sentences, which a narrow screen shows row by row.

Four columns of sentences on a phone are as narrow as a word, or lie outside the screen. The cells of such a table get
the heading of their column as a label; `assets/docs.css` shows them one below the other, each with its label. Tables of
numbers stay as they are and scroll.
"""

import html
import re
from typing import Any

TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEADING = re.compile(r"<th[ >].*?</th>", re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"(<td)([ >].*?</td>)", re.DOTALL)
SENTENCE = 5  # words in a cell
FEWEST, FEW = 3, 4  # columns; two fit a phone, and in a table with many the first has the names of rows


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with labels in its tables of sentences."""
    return TABLE.sub(lambda table: _labelled(table[0]), content)


def _labelled(table: str) -> str:
    headings = [_plain(heading) for heading in HEADING.findall(table)]
    rows = [[_plain("".join(cell)) for cell in CELL.findall(row)] for row in ROW.findall(table)]
    texts = [text for row in rows for text in row[len(headings) > FEW :]]
    longest = max((len(re.findall("[A-Za-z]{2,}", text)) for text in texts), default=0)
    if len(headings) < FEWEST or longest < SENTENCE:
        return table
    return ROW.sub(lambda row: _labelled_row(row[0], headings), table.replace("<table>", "<table data-rows>", 1))


def _labelled_row(row: str, headings: list[str]) -> str:
    names = iter(headings)
    return CELL.sub(lambda cell: f'{cell[1]} data-label="{html.escape(next(names))}"{cell[2]}', row)


def _plain(text: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", text)).strip()
