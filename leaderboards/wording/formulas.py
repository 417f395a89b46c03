"""Conversion of LaTeX to MathML, which browsers show and screen readers read without a script."""

import xml.etree.ElementTree as ET
from functools import cache

from markupsafe import Markup, escape

SPACE = "{http://www.w3.org/1998/Math/MathML}"
# Formulas of plug-ins are restricted to layout: no links, no styles, no events.
ELEMENTS = {
    *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mstyle", "mpadded", "mphantom"),
    *("msup", "msub", "msubsup", "munder", "mover", "munderover", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd"),
}
ATTRIBUTES = {"display", "width", "height", "depth", "stretchy", "fence", "mathvariant", "accent", "linethickness"}


@cache  # variants of a method have the same
def formula(latex: str) -> Markup:
    """Return LaTeX as a block of MathML, or as code where it cannot be converted."""
    from latex2mathml.converter import convert  # few builds make a page with a formula again

    try:
        root = ET.fromstring(convert(latex, display="block"))
        for node in root.iter():
            node.tag = node.tag.removeprefix(SPACE)
            node.attrib = {name: value for name, value in node.attrib.items() if name in ATTRIBUTES}
        if {node.tag for node in root.iter()} <= ELEMENTS:
            return Markup(ET.tostring(root, encoding="unicode"))
    except Exception:  # the converter raises all kinds of errors on what it cannot parse
        pass
    return Markup("<code>{}</code>").format(escape(latex))
