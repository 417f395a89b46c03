"""Figures as inline SVG that takes its colours from the page."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

# Matplotlib wants concrete colours; these stand for the page's own, which follow the reader's light or dark mode.
INK, MUTED, RULE, OURS, THEIRS = "#010101", "#020202", "#030303", "#040404", "#050505"
PAGE_COLOURS = {
    "#000000": "var(--ink)",  # seaborn's own
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
    OURS: "var(--ours)",
    THEIRS: "var(--theirs)",
}
WIDTH = 7.6  # inches, of a figure as wide as a page
PRESENTATION = {
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset"),
    *("stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "opacity", "font-size", "text-anchor"),
}
PLACES = {"d", "x", "y", "width", "height", "transform"}  # whose numbers are in points: hundredths are fine enough


def svg(draw: Callable[[Figure], None], size: tuple[float, float], key: str) -> str:
    """What `draw` puts on a figure of `size` (inches), for a page; `key` differs between the figures of a page."""
    settings = {"svg.fonttype": "none", "svg.hashsalt": key, "text.parse_math": False, "font.size": 9}
    with mpl.rc_context({**mpl.rcParamsDefault, **settings}):
        figure = Figure(size, facecolor="none")
        draw(figure)
        drawn = io.StringIO()
        FigureCanvasSVG(figure).print_svg(drawn, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _for_page(drawn.getvalue(), key)


def dress(axes: Axes) -> None:
    """Faint grid and labels in the page's colours, no frame."""
    axes.tick_params("both", length=0, labelcolor=MUTED, labelsize=7)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=MUTED, fontsize=8)
    axes.grid(color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


def _for_page(svg: str, key: str) -> str:
    """Matplotlib's SVG as a part of an HTML page: no namespaces, no styles of its own, no ids but the needed ones."""
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
            node.set(name, re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", node.get(name)))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")  # the page describes it in words
    return ET.tostring(root, encoding="unicode")


def _attributes(style: str) -> dict[str, str]:
    """A style as attributes of the element, since the pages' policy lets no element bring styles of its own."""
    found = {}
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            name, value = "font-size", re.search(r"[\d.]+px", value)[0]
        if name in PRESENTATION:
            found[name] = re.sub(r"#0\d0\d0\d", lambda colour: PAGE_COLOURS[colour[0]], value)
    return found
