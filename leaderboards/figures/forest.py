"""Forest plots: one row per method, with several estimates and their intervals in columns."""

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.axis import Axis, field, names
from lockstep_bench.leaderboards.figures.dots import FENCE

LINE, LONGEST_LABEL = 19, 28  # height of a row in pixels; largest number of characters of its label
TICKS, TICKS_ALONE = 3, 6  # intervals between ticks, with several columns and with one


class ForestEstimate(NamedTuple):
    """An estimate with its confidence interval; unknown numbers are NaN.

    Attributes:
        value: the estimate.
        low: lower end of its interval.
        high: upper end of its interval.
        parts: values whose mean is the estimate, drawn as faint dots.
    """

    value: float
    low: float
    high: float
    parts: tuple[float, ...] = ()


class ForestColumn(NamedTuple):
    """One column of a forest plot: the estimates of one quantity for all methods.

    Attributes:
        title: title of the axis.
        estimates: one per method.
        zero: value at which a stronger line is drawn; None for no stronger line.
        ends: lowest and highest value of the axis; None for those of `span`.
    """

    title: str
    estimates: list[ForestEstimate]
    zero: float | None = None
    ends: tuple[float, float] | None = None


def forest(labels: list[str], ahead: list[bool], columns: list[ForestColumn]) -> Markup:
    """Return a forest plot, whose intervals are cut at the ends of the axis.

    Args:
        labels: one per row.
        ahead: whether each row is drawn in the highlight colour.
        columns: columns from left to right.
    """
    bottom = LINE * len(labels)
    fields = []
    for column in columns:
        axis = Axis(*(column.ends or span(column)))
        parts = axis.ruled(bottom, column.title, TICKS if len(columns) > 1 else TICKS_ALONE, column.zero)
        for place, (estimate, is_ahead) in enumerate(zip(column.estimates, ahead, strict=True)):
            parts += _marks(estimate, LINE * (place + 0.5), axis, "ahead" if is_ahead else "behind")
        fields.append(field(parts, bottom))
    return Markup(f'<div class="dots forest">{names(labels, LINE, LONGEST_LABEL)}{"".join(fields)}</div>')


def alone(estimate: ForestEstimate, axis: Axis, is_ahead: bool) -> Markup:
    """Return SVG of a single estimate with its interval and the line at 0, for one cell of an HTML table.

    Args:
        estimate: the estimate that is drawn.
        axis: the axis that all cells of the column share.
        is_ahead: whether it is drawn in the highlight colour.
    """
    zero = f'<line class="zero" x1="{axis.at(0.0)}" x2="{axis.at(0.0)}" y1="0" y2="{LINE}"/>'
    marks = "".join(_marks(estimate, LINE / 2, axis, "ahead" if is_ahead else "behind"))
    return Markup(f'<svg class="field" height="{LINE}" aria-hidden="true" focusable="false">{zero}{marks}</svg>')


def _marks(estimate: ForestEstimate, y: float, axis: Axis, kind: str) -> list[str]:
    parts = [f'<line class="guide" x1="0" x2="100%" y1="{y}" y2="{y}"/>']
    parts += [f'<circle class="split {kind}" cx="{axis.at(part)}" cy="{y}" r="2.3"/>' for part in estimate.parts]
    if np.isfinite(estimate.low) and np.isfinite(estimate.high):
        ends = f'x1="{axis.at(estimate.low)}" x2="{axis.at(estimate.high)}"'
        parts.append(f'<line class="bar {kind}" {ends} y1="{y}" y2="{y}"/>')
    if axis.holds(estimate.value):
        parts.append(f'<circle class="{kind}" cx="{axis.at(estimate.value)}" cy="{y}" r="4"/>')
    elif not np.isnan(estimate.value):
        side, arrow = ("left", "M6-4l-6 4 6 4z") if estimate.value < axis.low else ("right", "M-6-4l6 4-6 4z")
        at = "0" if side == "left" else "100%"
        parts.append(f'<svg x="{at}" y="{y}" overflow="visible"><path class="{kind}" d="{arrow}"/></svg>')
    return parts


def span(column: ForestColumn) -> tuple[float, float]:
    """Return the lowest and the highest value of a column's axis.

    The axis covers all values and interval ends within 4 interquartile ranges of the quartiles of the values. A single
    bad method therefore does not compress all others.
    """
    known = [estimate for estimate in column.estimates if np.isfinite(estimate.value)]
    values = np.array([estimate.value for estimate in known])
    if not values.size:
        return 0.0, 1.0
    lower, upper = np.quantile(values, [0.25, 0.75])
    reach = FENCE * (upper - lower)
    shown = np.array([v for mark in known for v in (mark.value, mark.low, mark.high, *mark.parts)])
    shown = shown[(shown >= lower - reach) & (shown <= upper + reach)]
    shown = shown if column.zero is None else np.append(shown, column.zero)
    margin = 0.04 * np.ptp(shown) or 0.5
    return float(shown.min() - margin), float(shown.max() + margin)
