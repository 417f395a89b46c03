"""Formulas in documents, as MathML that browsers show without a script.

Documents write them between dollars, as GitHub reads them too. The extension `arithmatex` finds them and leaves code
alone; the converter is that of the leaderboards' pages.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with its formulas converted to MathML."""
    return FORMULA.sub(_converted, content)


def _converted(match: re.Match[str]) -> str:
    return convert(html.unescape(match[2]).strip(), display="block" if match[1] == "div" else "inline")
