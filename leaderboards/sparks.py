"""Small multiples on the unit square, a panel per method; written by hand as `dots` is, and for its reason."""

from math import ceil
from typing import NamedTuple

from markupsafe import Markup, escape

from leaderboards.formats import shortened

WIDTH, COLUMNS = 760, 6
SIDE, HEIGHT, GAP, TITLE = 112, 84, 16, 15  # of a panel, between panels, of its title; pixels at full size
LONGEST = 19  # characters of a title


class Panel(NamedTuple):
    """Attributes:
    title: above it.
    note: inside it, on the lower right.
    line: points (x, y) from (0, 0) to (1, 1).
    bars: heights from 0 to 1 of bars of equal width; a panel has these or a line.
    """

    title: str
    note: str
    line: list[tuple[float, float]]
    bars: list[float]


def grid(panels: list[Panel], guide: list[tuple[float, float]]) -> Markup:
    """SVG of the panels in rows; `guide` is a dashed line in each, of what would be perfect."""
    rows = ceil(len(panels) / COLUMNS)
    height = rows * (HEIGHT + TITLE + GAP)
    parts = [f'<svg class="sparks" viewBox="0 0 {WIDTH} {height}" aria-hidden="true" focusable="false">']
    for place, panel in enumerate(panels):
        left = (place % COLUMNS) * (SIDE + GAP)
        top = (place // COLUMNS) * (HEIGHT + TITLE + GAP) + TITLE
        parts.append(f'<text x="{left}" y="{top - 4}">{escape(shortened(panel.title, LONGEST))}</text>')
        parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{SIDE}" height="{HEIGHT}"/>')
        parts.append(f'<path class="guide" d="{_path(guide, left, top)}"/>')
        if panel.bars:
            parts.append(f'<path class="bars" d="{_bars(panel.bars, left, top)}"/>')
        if panel.line:
            parts.append(f'<path class="line" d="{_path(panel.line, left, top)}"/>')
        if panel.note:
            parts.append(f'<text class="note" x="{left + SIDE - 4}" y="{top + HEIGHT - 5}">{escape(panel.note)}</text>')
    return Markup("".join([*parts, "</svg>"]))


def _path(points: list[tuple[float, float]], left: float, top: float) -> str:
    return "M" + "L".join(f"{left + SIDE * x:.1f} {top + HEIGHT * (1 - y):.1f}" for x, y in points)


def _bars(heights: list[float], left: float, top: float) -> str:
    width = SIDE / len(heights)
    bottom = top + HEIGHT
    return "".join(
        f"M{left + width * (place + 0.08):.1f} {bottom}V{bottom - HEIGHT * height:.1f}h{0.84 * width:.1f}V{bottom}z"
        for place, height in enumerate(heights)
        if height > 0
    )
