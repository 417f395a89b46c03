"""Matplotlib figures as inline SVG in the colours of the page.

Matplotlib is imported where a figure is drawn, because most sites have none that needs it.
"""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Matplotlib needs concrete colours. Each of these is replaced by a colour of the page, in light or dark mode.
INK, MUTED, RULE, OURS, THEIRS = "#010101", "#020202", "#030303", "#040404", "#050505"
PAGE_COLOURS = {
    "#000000": "var(--ink)",  # seaborn's default
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
    OURS: "var(--ours)",
    THEIRS: "var(--theirs)",
}
WIDTH = 7.6  # inches; width of a figure that fills the page
PRESENTATION = {
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset"),
    *("stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "opacity", "font-size", "text-anchor"),
}
PLACES = {"d", "x", "y", "width", "height", "transform"}  # lengths in points, rounded to hundredths


def svg(draw: "Callable[[Figure], None]", size: tuple[float, float], key: str) -> str:
    """Return a Matplotlib figure as SVG, ready to be put inline into a page.

    Args:
        draw: function that draws on an empty figure.
        size: width and height in inches.
        key: prefix for the ids of HTML elements, unique within a page.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(
        {
            **mpl.rcParamsDefault,
            "svg.fonttype": "none",
            "svg.hashsalt": key,
            "text.parse_math": False,
            "font.size": 9,
        }
    ):
        figure = Figure(size, facecolor="none")
        draw(figure)
        drawn = io.StringIO()
        FigureCanvasSVG(figure).print_svg(drawn, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _for_page(drawn.getvalue(), key)


def dress(axes: "Axes") -> None:
    """Give axes a faint grid and labels in the colours of the page, and remove the frame."""
    axes.tick_params("both", length=0, labelcolor=MUTED, labelsize=7)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=MUTED, fontsize=8)
    axes.grid(color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


def _for_page(svg: str, key: str) -> str:
    """Return Matplotlib's SVG without namespaces, style sheets and unused ids, as HTML requires of inline SVG."""
    root = ET.fromstring(svg)
    needed = set(re.findall(r"#([\w-]+)", svg))
    for parent in root.iter():
        for child in [c for c in parent if c.tag.endswith(("}style", "}metadata"))]:
            parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        node.attrib = {name.rpartition("}")[2]: value for name, value in node.attrib.items()}
        if node.get("id") not in needed:
            node.attrib.pop("id", None)
        node.attrib |= _attributes(node.attrib.pop("style", ""))
        for name in PLACES & node.attrib.keys():
            node.set(name, re.sub(r"-?\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", node.attrib[name]))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")  # the page has a description in words
    return ET.tostring(root, encoding="unicode")


def _attributes(style: str) -> dict[str, str]:
    """Return an inline style as presentation attributes. The content-security policy of pages forbids inline styles."""
    attributes = {}
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            name, value = "font-size", re.findall(r"[\d.]+px", value)[0]
        if name in PRESENTATION:
            attributes[name] = re.sub(r"#0\d0\d0\d", lambda colour: PAGE_COLOURS[colour[0]], value)
    return attributes
