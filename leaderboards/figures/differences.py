"""Dot plots of measured minus published numbers in joint standard errors, a row per method or data set.

The SVG is written directly, as in `figures.dots`; its colours come from the style sheet of the page.
"""

from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup, escape

from lockstep_bench.leaderboards.figures.axis import Axis, field, names
from lockstep_bench.leaderboards.wording.formats import number

LINE, LONGEST_LABEL = 22, 30  # height of a row in pixels; largest number of characters of its label
FARTHEST = 6.0  # ends of the axis at most; numbers beyond are printed at its end
BAND = 2.0  # between ± this, two numbers agree


class Difference(NamedTuple):
    """The difference between one measured and one published number.

    Attributes:
        value: measured minus published, in joint standard errors.
        differs: whether it is significant after Holm's correction for all numbers.
        label: name of the number, shown as a tooltip.
    """

    value: float
    differs: bool
    label: str


def differences(rows: list[tuple[str, list[Difference]]]) -> Markup:
    """Return the dot plot, in which the range of ±2 standard errors is shaded.

    Args:
        rows: label and differences of each row, from top to bottom.
    """
    reach = min(max([3.0, *(abs(one.value) * 1.08 for _, row in rows for one in row)]), FARTHEST)
    axis = Axis(-reach, reach)
    bottom = LINE * len(rows)
    band = f'x="{axis.at(-BAND)}" width="{2 * BAND / (2 * reach):.2%}" y="0" height="{bottom}"'
    parts = [f'<rect class="band" {band}/>', *axis.ruled(bottom, "ours − paper, joint standard errors", zero=0.0)]
    notes = False
    for place, (_, row) in enumerate(rows):
        y = LINE * (place + 0.5)
        parts.append(f'<line class="guide" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts += _dots(row, y, axis)
        if off := _beyond(row, y, axis):
            notes = True
            parts.append(off)
    labels = names([label for label, _ in rows], LINE, LONGEST_LABEL)
    return Markup(f'<div class="dots{" notes" if notes else ""}">{labels}{field(parts, bottom)}</div>')


def _dots(row: list[Difference], y: float, axis: Axis) -> Iterator[str]:
    for one in row:
        if axis.holds(one.value):
            kind = "differs" if one.differs else "mean"
            title = f"<title>{escape(one.label)}</title>"
            yield f'<circle class="{kind}" cx="{axis.at(one.value)}" cy="{y:.1f}" r="3.7">{title}</circle>'


def _beyond(row: list[Difference], y: float, axis: Axis) -> str:
    """Return SVG text at the right with the numbers that lie beyond the ends of the axis."""
    beyond = sorted(one.value for one in row if not axis.holds(one.value))
    if not beyond:
        return ""
    shown = [f"{'←' if value < 0 else '→'} {number(value, 0)}" for value in beyond[:1] + beyond[1:][-1:]]
    text = ", ".join(shown) + (f", {len(beyond) - 2} more" if len(beyond) > 2 else "")
    return f'<text class="off" x="100%" y="{y + 4:.1f}"><tspan class="far">{escape(text)}</tspan></text>'
