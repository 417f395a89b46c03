"""Small multiples on the unit square: one panel per method.

The SVG is written directly. A plotting library would take a fifth of a second per figure, and most pages have several.
"""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from lockstep_bench.leaderboards.wording.formats import shortened

SIDE, HEIGHT, TITLE = 112, 84, 15  # width and height of a panel and height of its title, in units of its viewBox
LONGEST = 19  # largest number of characters of a title in the usual size
LONGEST_NARROW = 28  # and in the small one


class Panel(NamedTuple):
    """One panel on the unit square, which shows either a line or bars.

    Attributes:
        title: text above the panel.
        note: text in its lower right corner.
        line: points (x, y) of the line, from (0, 0) to (1, 1); a single point is drawn as a dot.
        bars: heights of bars of equal width, from 0 to 1.
    """

    title: str
    note: str
    line: list[tuple[float, float]]
    bars: list[float]


def grid(panels: list[Panel], guide: Sequence[tuple[float, float]] = ()) -> Markup:
    """Return HTML of all panels, one SVG each, which wrap to the width of the page.

    Args:
        panels: panels in reading order.
        guide: points (x, y) of a dashed line in every panel, which shows the ideal result; none by default.
    """
    frame = f'<rect class="frame" y="{TITLE}" width="{SIDE}" height="{HEIGHT}"/>'
    if guide:
        frame += f'<path class="guide" d="{_path(guide)}"/>'
    return Markup(f'<div class="sparks">{"".join(_panel(panel, frame) for panel in panels)}</div>')


def _panel(panel: Panel, frame: str) -> str:
    parts = [f'<svg viewBox="0 0 {SIDE} {TITLE + HEIGHT + 1}" aria-hidden="true" focusable="false">']
    parts += [titled(panel.title, 0, TITLE - 4, LONGEST, LONGEST_NARROW), frame]
    if panel.bars:
        parts.append(f'<path class="bars" d="{_bars(panel.bars)}"/>')
    if len(panel.line) == 1:
        parts.append(f'<path class="line dot ours" d="{_path(panel.line)}h0"/>')
    elif panel.line:
        parts.append(f'<path class="line ours" d="{_path(panel.line)}"/>')
    if panel.note:
        parts.append(f'<text class="note" x="{SIDE - 4}" y="{TITLE + HEIGHT - 5}">{escape(panel.note)}</text>')
    return "".join([*parts, "</svg>"])


def titled(title: str, x: int, y: int, longest: int, longest_narrow: int) -> str:
    """Return SVG of a panel's title, in smaller type if it is longer than `longest` characters."""
    kind = ' class="narrow"' if len(title) > longest else ""
    return f'<text{kind} x="{x}" y="{y}">{escape(shortened(title, longest_narrow))}</text>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{SIDE * x:.1f} {TITLE + HEIGHT * (1 - y):.1f}" for x, y in points)


def _bars(heights: list[float]) -> str:
    width = SIDE / len(heights)
    bottom = TITLE + HEIGHT
    return "".join(
        f"M{width * (place + 0.08):.1f} {bottom}V{bottom - HEIGHT * height:.1f}h{0.84 * width:.1f}V{bottom}z"
        for place, height in enumerate(heights)
        if height > 0
    )
