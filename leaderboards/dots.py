"""Dot plots: a line per method or data set, its splits, mean and standard error, and what others report.

They are written by hand because a site has one on nearly every page, and a plotting library takes a fifth of a second
for each. Colours come from the page's style sheet.
"""

from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape
from matplotlib.ticker import MaxNLocator

from leaderboards.formats import counted, number, shortened

WIDTH, HEAD, FOOT = 760, 8, 44  # of the figure, above and below its lines; pixels at full size
LINE, LOW_LINE, MANY = 30, 21, 12  # heights of a line; with more lines than that the low one
RIGHT, RIGHT_OFF_SCALE = 20, 96  # without and with values off the scale
CHARACTER, LONGEST_LABEL = 7.2, 30
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
    """SVG of one line per row: splits faint, mean with one standard error either way, published as hollow diamonds.

    What is off the scale stands as an arrow with its value. `zero` draws a line at 0 and cuts both ends alike.
    """
    low, high = scale(rows, zero)
    off = any(not low <= v <= high for row in rows for v in _all_values(row))
    left = CHARACTER * (max((min(len(row.label), LONGEST_LABEL) for row in rows), default=0) + 2)
    right = WIDTH - (RIGHT_OFF_SCALE if off else RIGHT)
    line = LOW_LINE if len(rows) > MANY else LINE
    bottom = HEAD + line * len(rows)

    def x(value: float) -> str:
        return f"{left + (right - left) * (value - low) / (high - low):.1f}"

    parts = [f'<svg class="dots" viewBox="0 0 {WIDTH} {bottom + FOOT}" aria-hidden="true" focusable="false">']
    places = [v for v in MaxNLocator(6).tick_values(low, high) if low <= v <= high]
    decimals = max((len(f"{v:.6f}".rstrip("0").partition(".")[2]) for v in places), default=0)
    for value in places:
        rule = "zero" if zero and value == 0 else "rule"
        parts.append(f'<path class="{rule}" d="M{x(value)} {HEAD}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{x(value)}" y="{bottom + 16}">{number(value, decimals)}</text>')
    parts.append(f'<text class="tick" x="{(left + right) / 2:.1f}" y="{bottom + 36}">{escape(axis_title)}</text>')
    for place, row in enumerate(rows):
        y = HEAD + line * (place + 0.5)
        parts.append(f'<text class="label" x="{left - 12:.1f}" y="{y + 4:.1f}">')
        parts.append(f"{escape(shortened(row.label, LONGEST_LABEL))}</text>")
        parts.append(f'<path class="guide" d="M{left:.1f} {y:.1f}H{right}"/>')
        parts += _marks(row, y, x, (low, high), right)
    return Markup("".join([*parts, "</svg>"]))


def _marks(row: DotRow, y: float, x, ends: tuple[float, float], right: int):
    low, high = ends
    ours, theirs = (y + 3, y - 5) if row.published and row.values else (y, y)
    inside = [v for v in row.values if low <= v <= high]
    for value in inside:
        yield f'<circle class="split" cx="{x(value)}" cy="{ours:.1f}" r="2.3"/>'
    off = []
    if low <= row.mean <= high:
        yield _bar(row.mean, row.stderr, ours, x, ends, "mean")
        yield f'<circle class="mean" cx="{x(row.mean)}" cy="{ours:.1f}" r="3.7"/>'
        if len(inside) < len(row.values):
            off.append((f"→ {counted(len(row.values) - len(inside), 'split')}", "ours"))
    elif not np.isnan(row.mean):
        off.append((f"{'←' if row.mean < low else '→'} {number(row.mean, 2)}", "ours"))
    for value, stderr in row.published:
        if low <= value <= high:
            yield _bar(value, stderr, theirs, x, ends, "published")
            yield f'<path class="published" d="M{x(value)} {theirs - 4:.1f}l4 4l-4 4l-4-4z"/>'
        else:
            off.append((f"→ {number(value, 2)}", "theirs"))
    if off:
        told = ", ".join(f'<tspan class="{whose}">{text}</tspan>' for text, whose in off[:2])
        yield f'<text class="off" x="{right + 6}" y="{y + 4:.1f}">{told}</text>'


def _bar(value: float, stderr: float, y: float, x, ends: tuple[float, float], kind: str) -> str:
    if not np.isfinite(stderr):
        return ""
    first, last = (min(max(v, ends[0]), ends[1]) for v in (value - stderr, value + stderr))
    return f'<path class="bar {kind}" d="M{x(first)} {y:.1f}H{x(last)}"/>'


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
