"""Dot plots: a line per method or data set, its splits, mean and standard error, and what others report.

They are written by hand because a site has one on nearly every page, and a plotting library takes a fifth of a second
for each. Colours come from the page's style sheet.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from leaderboards.figures.axis import Axis, field, names
from leaderboards.wording.formats import counted, number

LINE, LOW_LINE, MANY = 30, 21, 12  # heights of a line, in pixels; with more lines than that the low one
LONGEST_LABEL = 30  # characters
FENCE = 4  # interquartile ranges beyond the quartiles


class DotRow(NamedTuple):
    """One line.

    Attributes:
        label: its name.
        values: its splits.
        mean, stderr: of `values`; NaN where there is none.
        published: (value, stderr) of other people's numbers.
    """

    label: str
    values: list[float]
    mean: float
    stderr: float
    published: list[tuple[float, float]]


def dot_plot(rows: list[DotRow], axis_title: str, zero: bool = False) -> Markup:
    """One line per row: splits faint, mean with one standard error either way, published as hollow diamonds.

    What is off the scale stands as an arrow with its value. `zero` draws a line at 0 and cuts both ends alike.
    """
    axis = Axis(*scale(rows, zero))
    off = any(not axis.holds(v) for row in rows for v in _all_values(row))
    line = LOW_LINE if len(rows) > MANY else LINE
    bottom = line * len(rows)
    parts = axis.ruled(bottom, axis_title, zero=0.0 if zero else None)
    for place, row in enumerate(rows):
        y = line * (place + 0.5)
        parts.append(f'<line class="guide" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts += _marks(row, y, axis)
    labels = names([row.label for row in rows], line, LONGEST_LABEL)
    return Markup(f'<div class="dots{" notes" if off else ""}">{labels}{field(parts, bottom)}</div>')


def _marks(row: DotRow, y: float, axis: Axis) -> Iterator[str]:
    ours, theirs = (y + 3, y - 5) if row.published and row.values else (y, y)
    inside = [v for v in row.values if axis.holds(v)]
    for value in inside:
        yield f'<circle class="split" cx="{axis.at(value)}" cy="{ours:.1f}" r="2.3"/>'
    off = []
    if axis.holds(row.mean):
        yield _bar(row.mean, row.stderr, ours, axis, "mean")
        yield f'<circle class="mean" cx="{axis.at(row.mean)}" cy="{ours:.1f}" r="3.7"/>'
        if len(inside) < len(row.values):
            off.append((f"→ {counted(len(row.values) - len(inside), 'split')}", "ours"))
    elif not np.isnan(row.mean):
        off.append((f"{'←' if row.mean < axis.low else '→'} {number(row.mean, 2)}", "ours"))
    for value, stderr in row.published:
        if axis.holds(value):
            yield _bar(value, stderr, theirs, axis, "published")
            diamond = '<path class="published" d="M0-4l4 4-4 4-4-4z"/>'
            yield f'<svg x="{axis.at(value)}" y="{theirs:.1f}" overflow="visible">{diamond}</svg>'
        else:
            off.append((f"→ {number(value, 2)}", "theirs"))
    if off:
        told = ", ".join(f'<tspan class="{whose}">{text}</tspan>' for text, whose in off[:2])
        yield f'<text class="off" x="100%" y="{y + 4:.1f}">{told}</text>'


def _bar(value: float, stderr: float, y: float, axis: Axis, kind: str) -> str:
    if not np.isfinite(stderr):
        return ""
    ends = f'x1="{axis.at(value - stderr)}" x2="{axis.at(value + stderr)}"'
    return f'<line class="bar {kind}" {ends} y1="{y:.1f}" y2="{y:.1f}"/>'


def scale(rows: list[DotRow], zero: bool = False) -> tuple[float, float]:
    """Ends of the axis: every finite value, but nothing above the upper quartile by more than 4 interquartile ranges.

    A method that fails badly must not press all others into one point. Nothing is cut below, where low is good; with
    `zero`, of differences, both ends are cut alike and 0 is always there.
    """
    shown = [v for row in rows for v in _all_values(row) if np.isfinite(v)]
    shown += [0.0] if zero else []
    if not shown:
        return 0.0, 1.0
    lower, upper = np.quantile(shown, [0.25, 0.75])
    reach = FENCE * (upper - lower)
    high = max(v for v in shown if v <= upper + reach)
    low = min(v for v in shown if v >= lower - reach) if zero else min(shown)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _all_values(row: DotRow) -> list[float]:
    return [*row.values, *(value for value, _ in row.published)]
