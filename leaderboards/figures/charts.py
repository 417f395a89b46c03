"""Figures over all data sets of a suite: ranks, quality against runtime, interval coverage."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.axis import Axis, field, names
from lockstep_bench.leaderboards.figures.forest import LINE, LONGEST_LABEL, ForestColumn, ForestEstimate, forest
from lockstep_bench.leaderboards.figures.svg import INK, MUTED, OURS, THEIRS, WIDTH, dress, svg
from lockstep_bench.leaderboards.stats import Ranking
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.leaderboards.wording.formats import shortened, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 28  # characters of a name
SHAPES = {  # mark of each nominal coverage in percent, centred on its position
    50: "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    80: "M-3-3h6v6h-6z",
    90: "M0-4l4 7h-8z",
    95: "M0-4.2l4.2 4.2-4.2 4.2-4.2-4.2z",
}
LEVELS = tuple(SHAPES)


def rank_distribution(ranking: Ranking) -> Markup:
    """Return the figure of each method's rank on each data set, its mean rank, and the confidence set of its rank."""
    rows = ranking.rows
    estimates = [ForestEstimate(row.mean_rank, row.rank_low, row.rank_high, ranking.ranks[row.method]) for row in rows]
    ahead = [row.verdict in AHEAD for row in rows]
    return forest(
        [visible(row.method) for row in rows], ahead, [ForestColumn("rank on a data set (1 is best)", estimates)]
    )


def pareto(points: pd.DataFrame, labels: tuple[str, str], low_is_good: bool, key: str) -> Markup:
    """Return the figure of quality against cost (log scale), a point per method, with a line through the Pareto front.

    Args:
        points: one row per method (the index), with columns cost and quality.
        labels: titles of the two axes.
        low_is_good: whether low quality values are good.
        key: prefix for the ids of HTML elements, unique within a page.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    front = pareto_front(points, low_is_good)

    def draw(figure: "Figure") -> None:
        axes = figure.add_axes((0.1, 0.14, 0.87, 0.83), facecolor="none")
        axes.scatter(points["cost"], points["quality"], color=OURS, s=24, linewidth=0, alpha=0.8)
        best = points.loc[front]
        axes.plot(best["cost"], best["quality"], color=THEIRS, linewidth=1.2, drawstyle="steps-post", zorder=0)
        axes.set(xscale="log", xlabel=labels[0], ylabel=labels[1])
        low, high = _window(points["quality"].to_numpy(), low_is_good)
        axes.set_ylim(low, high)
        axes.set_xlim(points["cost"].min() / 1.15, points["cost"].max() * 1.6)  # room for names
        _name(axes, points, front)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        dress(axes)

    return Markup(svg(draw, (WIDTH, 4.2), key))


def _name(axes: "Axes", points: pd.DataFrame, front: list[str]) -> None:
    """Write names beside the points, those of the front first; names that would overlap others are left out."""
    figure, (low, high) = axes.figure, axes.get_ylim()
    taken: list[tuple[float, float, float]] = []  # left end, right end and height of each name, in points
    for method in [*front, *(name for name in points.index if name not in front)]:
        cost, quality = points.loc[method, ["cost", "quality"]]
        if not low <= quality <= high:
            continue
        x, y = axes.transData.transform((cost, quality)) * 72 / figure.dpi
        label = shortened(visible(method), LONGEST)
        left, right = x + 4, x + 4 + 3.6 * len(label)
        if any(left < end and start < right and abs(y - at) < 7 for start, end, at in taken):
            continue
        taken.append((left, right, y))
        colour = INK if method in front else MUTED
        axes.annotate(label, (cost, quality), (4, 3), textcoords="offset points", color=colour, fontsize=6.5)


def _window(values: np.ndarray, low_is_good: bool) -> tuple[float, float]:
    """Return the ends of an axis, at most 3 interquartile ranges beyond the worse quartile."""
    lower, upper = np.quantile(values, [0.25, 0.75])
    reach = 3 * (upper - lower)
    kept = values[values <= upper + reach] if low_is_good else values[values >= lower - reach]
    margin = 0.06 * np.ptp(kept) or 0.5
    return kept.min() - margin, kept.max() + margin


def pareto_front(points: pd.DataFrame, low_is_good: bool) -> list[str]:
    """Return the methods that no other method beats in both cost and quality, the cheapest first."""
    sign = 1 if low_is_good else -1
    ordered = points.assign(loss=sign * points["quality"]).sort_values(["cost", "loss"])
    best, front = np.inf, []
    for method, loss in ordered["loss"].items():
        if loss < best:
            best = loss
            front.append(str(method))
    return front


def coverage(shares: pd.DataFrame) -> Markup:
    """Return the figure of observed minus nominal coverage of central intervals, in percentage points.

    Args:
        shares: observed coverage, one row per method (the index) from top to bottom, one column per nominal level in
            percent.
    """
    off = 100 * shares - np.array(shares.columns, float)
    low, high = min(float(np.nanmin(off)), 0.0), max(float(np.nanmax(off)), 0.0)
    margin = 0.04 * (high - low) or 1.0
    axis = Axis(low - margin, high + margin)
    bottom = LINE * len(off)
    parts = axis.ruled(bottom, "coverage error, percentage points", zero=0.0)
    for place, values in enumerate(off.to_numpy()):
        y = LINE * (place + 0.5)
        parts.append(f'<line class="guide" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
        for level, value in zip(map(int, off.columns), values, strict=True):
            if np.isfinite(value):
                shape = f'<path class="level{level}" d="{SHAPES[level]}"/>'
                parts.append(f'<svg x="{axis.at(value)}" y="{y}" overflow="visible">{shape}</svg>')
    legend = "".join(
        '<span><svg viewBox="-9 -7 18 14" aria-hidden="true" focusable="false">'
        f'<path class="level{level}" d="{shape}"/></svg><span>{level} % intervals</span></span>'
        for level, shape in SHAPES.items()
    )
    labels = names([visible(method) for method in off.index], LINE, LONGEST_LABEL)
    return Markup(f'<p class="legend">{legend}</p><div class="dots">{labels}{field(parts, bottom)}</div>')
