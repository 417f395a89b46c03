"""LaTeX to MathML, which browsers lay out and screen readers read, without a script."""

import xml.etree.ElementTree as ET

from latex2mathml.converter import convert
from markupsafe import Markup, escape

SPACE = "{http://www.w3.org/1998/Math/MathML}"
# A stranger's formula gets no more than layout: no links, no styles, no events.
ELEMENTS = {
    *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mstyle", "mpadded", "mphantom"),
    *("msup", "msub", "msubsup", "munder", "mover", "munderover", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd"),
}
ATTRIBUTES = {"display", "width", "height", "depth", "stretchy", "fence", "mathvariant", "accent", "linethickness"}


def formula(latex: str) -> Markup:
    """`latex` as a block of MathML; as code where it cannot be understood."""
    try:
        root = ET.fromstring(convert(latex, display="block"))
        for node in root.iter():
            node.tag = node.tag.removeprefix(SPACE)
            node.attrib = {name: value for name, value in node.attrib.items() if name in ATTRIBUTES}
        if {node.tag for node in root.iter()} <= ELEMENTS:
            return Markup(ET.tostring(root, encoding="unicode"))
    except Exception:  # the converter raises what it likes on what it cannot parse
        pass
    return Markup("<code>{}</code>").format(escape(latex))
