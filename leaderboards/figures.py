"""The dot plot of one board."""

from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from leaderboards.formats import counted, number, shortened
from leaderboards.svg import INK, MUTED, OURS, RULE, THEIRS, svg

WIDTH, HEAD, FOOT = 7.6, 0.08, 0.5  # inches
ROW_HEIGHT, LOW_ROW_HEIGHT, MANY_ROWS = 0.34, 0.24, 12  # inches; with more rows than that the low one
RIGHT, RIGHT_OFF_SCALE = 0.2, 1.0  # inches, without and with values off the scale
CHARACTER = 0.078  # inches, of the labels' average one
LONGEST_LABEL = 26
FENCE = 4  # interquartile ranges above the upper quartile


class DotRow(NamedTuple):
    """One method.

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


def dot_plot(rows: list[DotRow], axis_title: str, key: str) -> str:
    """SVG of one line per row: splits faint, mean with one standard error either way, published as hollow diamonds.

    `key` must differ between the figures of a page. What is above the scale stands as an arrow with its value.
    """
    low, high = scale(rows)
    right = RIGHT_OFF_SCALE if any(v > high for row in rows for v in _all_values(row)) else RIGHT
    left = CHARACTER * (max(min(len(row.label), LONGEST_LABEL) for row in rows) + 2)
    rows_height = len(rows) * (LOW_ROW_HEIGHT if len(rows) > MANY_ROWS else ROW_HEIGHT)
    height = HEAD + rows_height + FOOT

    def draw(figure: Figure) -> None:
        axes = figure.add_axes(
            (left / WIDTH, FOOT / height, 1 - (left + right) / WIDTH, rows_height / height), facecolor="none"
        )
        _dress(axes, rows, axis_title, low, high)
        for line, row in enumerate(rows):
            _draw(axes, line, row, high)

    return svg(draw, (WIDTH, height), key)


def scale(rows: list[DotRow]) -> tuple[float, float]:
    """Ends of the axis: every finite value, but nothing above the upper quartile by more than 4 interquartile ranges.

    A method that fails badly must not press all others into one point. Nothing is cut below: low is good.
    """
    shown = [v for row in rows for v in _all_values(row) if np.isfinite(v)]
    if not shown:
        return 0.0, 1.0
    lower, upper = np.quantile(shown, [0.25, 0.75])
    fence = upper + FENCE * (upper - lower)
    low, high = min(shown), max(v for v in shown if v <= fence)
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _all_values(row: DotRow) -> list[float]:
    return [*row.values, *(value for value, _ in row.published)]


def _dress(axes, rows: list[DotRow], axis_title: str, low: float, high: float) -> None:
    axes.set_xlim(low, high)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [shortened(row.label, LONGEST_LABEL) for row in rows], color=INK)
    axes.set_xlabel(axis_title, color=MUTED)
    axes.tick_params("both", length=0, pad=6)
    axes.tick_params("x", labelcolor=MUTED)
    axes.grid(axis="x", color=RULE, linewidth=0.8)
    axes.hlines(range(len(rows)), low, high, RULE, linewidth=0.8, linestyle=(0, (1, 3)))
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6))
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)


def _draw(axes, line: int, row: DotRow, high: float) -> None:
    here = line + (0.14 if row.published and row.values else 0.0)
    inside = [v for v in row.values if v <= high]
    axes.plot(inside, [here] * len(inside), "o", markersize=3.4, color=OURS, alpha=0.28, markeredgewidth=0)
    off_scale = []
    if row.mean <= high:
        axes.errorbar(row.mean, here, xerr=_bar(row.stderr), color=OURS, linewidth=1.6, fmt="o", markersize=5.5)
    elif row.mean > high:
        off_scale.append((number(row.mean, 2), OURS))
    beyond = len(row.values) - len(inside)
    if beyond and row.mean <= high:
        off_scale.append((counted(beyond, "split"), OURS))
    above = line - (0.18 if row.values else 0.0)
    for value, stderr in row.published:
        if value <= high:
            bar = {"xerr": _bar(stderr), "fmt": "D", "markersize": 5, "markerfacecolor": "none", "linewidth": 1}
            axes.errorbar(value, above, color=THEIRS, **bar)
        else:
            off_scale.append((number(value, 2), THEIRS))
    places = np.linspace(-0.18, 0.18, len(off_scale)) if len(off_scale) > 1 else [0.0]
    for (text, colour), shift in zip(off_scale, places, strict=False):
        axes.annotate(
            f"→ {text}",
            (1, line - shift),
            (6, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=7 if len(off_scale) > 1 else 8,
        )


def _bar(stderr: float) -> float | None:
    return stderr if np.isfinite(stderr) else None
