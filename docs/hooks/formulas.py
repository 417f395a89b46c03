"""Formulas in documents, as MathML that browsers show without a script.

Documents write them between dollars, as GitHub reads them too. The extension `arithmatex` finds them and leaves code
alone; the converter is that of the leaderboards' pages. Formulas with a `qquad` between them stand beside each other,
or below each other on a narrow screen.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
BARS = re.compile(r'<mo stretchy="false">&#x0007C;</mo>(.*?)<mo stretchy="false">&#x0007C;</mo>', re.DOTALL)
# A name of letters, such as log: after an operand, and before a bracket, a space or the end of a row.
FUNCTION = re.compile(r"(</m(?!o)\w+>)?<m([io])>([A-Za-z]{2,})</m\2>(?=(<mo[^>]*>(?:&#x00028;|\()|<mspace|</)?)")


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with its formulas converted to MathML."""
    return FORMULA.sub(_converted, content)


def _converted(match: re.Match[str]) -> str:
    latex = html.unescape(match[2]).strip()
    if match[1] == "span":
        return _spaced(convert(latex, display="inline"))
    formulas = [_spaced(convert(part.strip(), display="block")) for part in latex.split(r"\qquad")]
    return f'<div class="formulas">{"".join(formulas)}</div>'


def _spaced(mathml: str) -> str:
    """Return MathML with the spaces of TeX around bars, functions and signs, which the converter leaves out."""
    bars = BARS.sub(r'<mo form="prefix" stretchy="false">|</mo>\1<mo form="postfix" stretchy="false">|</mo>', mathml)
    functions = FUNCTION.sub(_function, bars)
    return functions.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>").replace("<mi>;</mi>", "<mo>;</mo>")


def _function(match: re.Match[str]) -> str:
    before = "0.167em" if match[1] else "0"
    after = "0" if match[4] else "0.167em"
    return f'{match[1] or ""}<mo lspace="{before}" rspace="{after}">{match[3]}</mo>'
