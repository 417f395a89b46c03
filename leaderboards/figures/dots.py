"""Dot plots: one row per method or data set, with its splits, mean, standard error and published numbers.

The SVG is written directly, because nearly every page has a dot plot and a plotting library takes a fifth of a second
for each. Colours come from the style sheet of the page.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.axis import Axis, field, names
from lockstep_bench.leaderboards.wording.formats import counted, number

LINE, LOW_LINE, MANY = 30, 21, 12  # row heights in pixels; with more than MANY rows, LOW_LINE is used
LONGEST_LABEL = 40  # largest number of characters
FENCE = 4  # values further from the quartiles than this many interquartile ranges are off the scale


class DotRow(NamedTuple):
    """One row of a dot plot: a method, or a data set, with its values on all splits.

    Attributes:
        label: name of the method or data set.
        values: one per split.
        mean: mean of `values`; NaN where there is none.
        stderr: standard error of `mean`; NaN where there is none.
        published: pairs (value, standard error), one for each published number.
    """

    label: str
    values: list[float]
    mean: float
    stderr: float
    published: list[tuple[float, float]]


def dot_plot(rows: list[DotRow], axis_title: str, zero: bool = False) -> Markup:
    """Return a dot plot: faint dots for splits, mean ± standard error, hollow diamonds for published numbers.

    Values off the scale are printed beside an arrow.

    Args:
        rows: rows from top to bottom.
        axis_title: title of the horizontal axis.
        zero: whether values are differences. If so, a line is drawn at 0 and outliers are cut at both ends.
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
        texts = ", ".join(f'<tspan class="{whose}">{text}</tspan>' for text, whose in off[:2])
        yield f'<text class="off" x="100%" y="{y + 4:.1f}">{texts}</text>'


def _bar(value: float, stderr: float, y: float, axis: Axis, kind: str) -> str:
    if not np.isfinite(stderr):
        return ""
    ends = f'x1="{axis.at(value - stderr)}" x2="{axis.at(value + stderr)}"'
    return f'<line class="bar {kind}" {ends} y1="{y:.1f}" y2="{y:.1f}"/>'


def scale(rows: list[DotRow], zero: bool = False) -> tuple[float, float]:
    """Return the lowest and the highest value of the horizontal axis.

    The axis covers all finite values up to 4 interquartile ranges above the upper quartile. A method that fails badly
    therefore does not compress all others. No low value is cut, because low values are good.

    Args:
        rows: rows of the plot.
        zero: whether values are differences. If so, low values are cut too, and the axis includes 0.
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
