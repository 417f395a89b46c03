"""Forest plots: a line per method, and beside each other several estimates of it with their intervals."""

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from leaderboards.figures.axis import Axis, field, names
from leaderboards.figures.dots import FENCE

LINE, LONGEST_LABEL = 19, 28  # of a line, pixels; of its name, characters
TICKS, TICKS_ALONE = 3, 6  # of an axis that shares a page's width with others, and of one that does not


class Estimate(NamedTuple):
    """A number, its interval, all NaN where there is none, and what it is the mean of."""

    value: float
    low: float
    high: float
    parts: tuple[float, ...] = ()


class Column(NamedTuple):
    """Attributes:
    title: below its axis.
    estimates: one per method.
    zero: where a stronger rule stands; None for nowhere.
    """

    title: str
    estimates: list[Estimate]
    zero: float | None = None


def forest(labels: list[str], ahead: list[bool], columns: list[Column]) -> Markup:
    """Figure of a line per label, those `ahead` in the page's own colour; intervals end where the axis does."""
    bottom = LINE * len(labels)
    fields = []
    for column in columns:
        axis = Axis(*span(column))
        parts = axis.ruled(bottom, column.title, TICKS if len(columns) > 1 else TICKS_ALONE, column.zero)
        for place, (one, is_ahead) in enumerate(zip(column.estimates, ahead, strict=True)):
            parts += _marks(one, LINE * (place + 0.5), axis, "ahead" if is_ahead else "behind")
        fields.append(field(parts, bottom))
    return Markup(f'<div class="dots forest">{names(labels, LINE, LONGEST_LABEL)}{"".join(fields)}</div>')


def _marks(one: Estimate, y: float, axis: Axis, kind: str) -> list[str]:
    parts = [f'<line class="guide" x1="0" x2="100%" y1="{y}" y2="{y}"/>']
    parts += [f'<circle class="split {kind}" cx="{axis.at(part)}" cy="{y}" r="2.3"/>' for part in one.parts]
    if np.isfinite(one.low) and np.isfinite(one.high):
        ends = f'x1="{axis.at(one.low)}" x2="{axis.at(one.high)}"'
        parts.append(f'<line class="bar {kind}" {ends} y1="{y}" y2="{y}"/>')
    if axis.holds(one.value):
        parts.append(f'<circle class="{kind}" cx="{axis.at(one.value)}" cy="{y}" r="4"/>')
    elif not np.isnan(one.value):
        side, arrow = ("left", "M6-4l-6 4 6 4z") if one.value < axis.low else ("right", "M-6-4l6 4-6 4z")
        at = "0" if side == "left" else "100%"
        parts.append(f'<svg x="{at}" y="{y}" overflow="visible"><path class="{kind}" d="{arrow}"/></svg>')
    return parts


def span(column: Column) -> tuple[float, float]:
    """Ends of the axis: all values and the finite ends of their intervals, but nothing far beyond the quartiles.

    Beyond is more than 4 times the distance of the quartiles of the values, so that no terrible method presses the
    others into one point.
    """
    values = np.array([one.value for one in column.estimates if np.isfinite(one.value)])
    if not values.size:
        return 0.0, 1.0
    lower, upper = np.quantile(values, [0.25, 0.75])
    reach = FENCE * (upper - lower)
    known = [one for one in column.estimates if np.isfinite(one.value)]
    shown = np.array([v for one in known for v in (one.value, one.low, one.high, *one.parts)])
    shown = shown[(shown >= lower - reach) & (shown <= upper + reach)]
    shown = shown if column.zero is None else np.append(shown, column.zero)
    margin = 0.04 * np.ptp(shown) or 0.5
    return float(shown.min() - margin), float(shown.max() + margin)
