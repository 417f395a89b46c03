"""Small multiples on the unit square, a panel per method; written by hand as `dots` is, and for its reason."""

from typing import NamedTuple

from markupsafe import Markup, escape

from leaderboards.wording.formats import shortened

SIDE, HEIGHT, TITLE = 112, 84, 15  # width and height of a panel, height of its title; units of its own
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
    """The panels, an SVG each, so that as many stand side by side as the page is wide.

    `guide` is a dashed line in each, of what would be perfect.
    """
    perfect = (
        f'<rect class="frame" y="{TITLE}" width="{SIDE}" height="{HEIGHT}"/><path class="guide" d="{_path(guide)}"/>'
    )
    return Markup(f'<div class="sparks">{"".join(_panel(one, perfect) for one in panels)}</div>')


def _panel(panel: Panel, perfect: str) -> str:
    parts = [f'<svg viewBox="0 0 {SIDE} {TITLE + HEIGHT + 1}" aria-hidden="true" focusable="false">']
    parts += [f'<text x="0" y="{TITLE - 4}">{escape(shortened(panel.title, LONGEST))}</text>', perfect]
    if panel.bars:
        parts.append(f'<path class="bars" d="{_bars(panel.bars)}"/>')
    if panel.line:
        parts.append(f'<path class="line ours" d="{_path(panel.line)}"/>')
    if panel.note:
        parts.append(f'<text class="note" x="{SIDE - 4}" y="{TITLE + HEIGHT - 5}">{escape(panel.note)}</text>')
    return "".join([*parts, "</svg>"])


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{SIDE * x:.1f} {TITLE + HEIGHT * (1 - y):.1f}" for x, y in points)


def _bars(heights: list[float]) -> str:
    width = SIDE / len(heights)
    bottom = TITLE + HEIGHT
    return "".join(
        f"M{width * (place + 0.08):.1f} {bottom}V{bottom - HEIGHT * height:.1f}h{0.84 * width:.1f}V{bottom}z"
        for place, height in enumerate(heights)
        if height > 0
    )
