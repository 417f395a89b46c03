"""Figures of a suite: ranks, critical difference, quality against runtime, coverage of intervals."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leaderboards.formats import shortened, visible
from leaderboards.stats import CriticalDifference
from leaderboards.svg import INK, MUTED, OURS, RULE, THEIRS, WIDTH, dress, svg

LINE, FOOT, HEAD = 0.21, 0.5, 0.1  # inches: of a method, below the last, above the first
LEFT = 1.9  # inches, for names
LONGEST = 28  # characters of a name
LEVELS = {50: "o", 80: "s", 90: "^", 95: "D"}  # nominal coverage, and its marker


def _by_method(methods: list[str], draw, key: str) -> Markup:
    """A figure with a line per method; `draw` is given its axes, on which method i is at height i."""
    height = HEAD + LINE * len(methods) + FOOT

    def figure_of(figure: Figure) -> None:
        axes = figure.add_axes((LEFT / WIDTH, FOOT / height, 1 - (LEFT + 0.2) / WIDTH, LINE * len(methods) / height))
        axes.set_facecolor("none")
        draw(axes)
        axes.set_ylim(len(methods) - 0.5, -0.5)
        axes.set_yticks(range(len(methods)), [shortened(visible(m), LONGEST) for m in methods])
        dress(axes)
        axes.tick_params("y", labelcolor=INK, labelsize=8)
        axes.set_ylabel("")

    return Markup(svg(figure_of, (WIDTH, height), key))


def rank_distribution(places: pd.DataFrame, intervals: dict[str, tuple[float, float, float]], key: str) -> Markup:
    """SVG: every method's rank on each data set, its mean rank and the 95 % interval of that.

    `places` has the columns dataset, method, rank; `intervals` are (mean, low, high) in the order of the lines.
    """
    methods = list(intervals)

    def draw(axes: Axes) -> None:
        sns.stripplot(
            places,
            x="rank",
            y="method",
            order=methods,
            color=OURS,
            alpha=0.35,
            size=3.4,
            jitter=0.18,
            linewidth=0,
            ax=axes,
        )
        for line, (mean, low, high) in enumerate(intervals.values()):
            if np.isfinite(low) and np.isfinite(high):
                axes.plot([low, high], [line, line], color=INK, linewidth=1.4)
            axes.plot(mean, line, "o", color=INK, markersize=4)
        axes.set_xlabel("rank on a data set (1 is best)")
        axes.set_xlim(0.3, len(methods) + 0.7)
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))

    np.random.seed(0)  # noqa: NPY002 - seaborn's jitter knows no other; the same results give the same bytes
    return _by_method(methods, draw, key)


def critical_difference_diagram(found: CriticalDifference, key: str) -> Markup:
    """SVG of Demsar's diagram, upright: methods by mean rank, and bars that join what cannot be told apart."""
    methods = list(found.mean_ranks.index)
    lanes = _lanes([(methods.index(group[0]), methods.index(group[-1])) for group in found.groups])

    def draw(axes: Axes) -> None:
        axes.plot(found.mean_ranks, range(len(methods)), "o", color=INK, markersize=4)
        low, high = 1, max(found.mean_ranks.max(), 1 + found.difference) + 0.3
        step = 0.022 * (high - low)
        left = low - step * (max((lane for _, _, lane in lanes), default=0) + 2)
        for first, last, lane in lanes:
            axes.plot([low - step * (lane + 1)] * 2, [first - 0.2, last + 0.2], color=OURS, linewidth=2.4)
        start = max(high - found.difference - 0.2, low)
        axes.plot([start, start + found.difference], [len(methods) - 0.6] * 2, color=THEIRS, linewidth=2.4)
        axes.annotate(
            "critical difference",
            (start, len(methods) - 0.6),
            (0, 4),
            textcoords="offset points",
            color=THEIRS,
            fontsize=8,
        )
        axes.set_xlim(left, high)
        axes.set_xlabel("mean rank (1 is best)")

    return _by_method(methods, draw, key)


def _lanes(bars: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(first, last, lane) of each bar, lanes so that no two in one touch."""
    ends: list[int] = []
    placed = []
    for first, last in bars:
        lane = next((lane for lane, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        placed.append((first, last, lane))
    return placed


def pareto(points: pd.DataFrame, labels: tuple[str, str], low_is_good: bool, key: str) -> Markup:
    """SVG: quality against cost, a point per method, a line through those that no other beats in both.

    `points` has the index method and the columns cost, on a log scale, and quality.
    """
    front = pareto_front(points, low_is_good)

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.1, 0.14, 0.87, 0.83), facecolor="none")
        sns.scatterplot(points, x="cost", y="quality", color=OURS, s=24, linewidth=0, alpha=0.8, ax=axes)
        best = points.loc[front]
        axes.plot(best["cost"], best["quality"], color=THEIRS, linewidth=1.2, drawstyle="steps-post", zorder=0)
        axes.set(xscale="log", xlabel=labels[0], ylabel=labels[1])
        low, high = _window(points["quality"].to_numpy(), low_is_good)
        axes.set_ylim(low, high)
        axes.set_xlim(points["cost"].min() / 1.15, points["cost"].max() * 1.6)  # room for names
        _name(axes, points, front)
        axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        dress(axes)

    return Markup(svg(draw, (WIDTH, 4.2), key))


def _name(axes: Axes, points: pd.DataFrame, front: list[str]) -> None:
    """Names beside the points, those of the front first; a name that would lie on another is left out."""
    figure, (low, high) = axes.figure, axes.get_ylim()
    taken: list[tuple[float, float, float]] = []  # of each name its left end, right end and height, in points
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
    """Ends of an axis that a few terrible methods do not stretch: 3 interquartile ranges beyond the worse quartile."""
    lower, upper = np.quantile(values, [0.25, 0.75])
    reach = 3 * (upper - lower)
    kept = values[values <= upper + reach] if low_is_good else values[values >= lower - reach]
    margin = 0.06 * np.ptp(kept) or 0.5
    return kept.min() - margin, kept.max() + margin


def pareto_front(points: pd.DataFrame, low_is_good: bool) -> list[str]:
    """The methods than which no other is as cheap and better, or as good and cheaper; the cheapest first."""
    sign = 1 if low_is_good else -1
    ordered = points.assign(loss=sign * points["quality"]).sort_values(["cost", "loss"])
    best, front = np.inf, []
    for method, loss in ordered["loss"].items():
        if loss < best:
            best = loss
            front.append(method)
    return front


def coverage(shares: pd.DataFrame, key: str) -> Markup:
    """SVG: how much larger than nominal the share of test points inside central intervals is, in percentage points.

    `shares` has the index method, in the order of the lines, and a column per nominal level in percent.
    """
    methods = list(shares.index)
    off = 100 * shares - np.array(shares.columns, float)
    long = off.rename_axis("method").reset_index().melt("method", var_name="level", value_name="off")

    def draw(axes: Axes) -> None:
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for shade, (level, marker) in zip((MUTED, THEIRS, OURS, INK), LEVELS.items(), strict=True):
            own = long[long["level"] == level]
            axes.plot(
                own["off"],
                [methods.index(m) for m in own["method"]],
                marker,
                color=shade,
                markersize=4,
                alpha=0.85,
                markeredgewidth=0,
                label=f"{level} % intervals",
                linestyle="none",
            )
        axes.set_xlabel("coverage less its nominal value, percentage points (left: too sure)")
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 1.0 + 0.34 / (LINE * len(methods))),
            ncols=4,
            frameon=False,
            fontsize=8,
            labelcolor=MUTED,
            handletextpad=0.2,
            borderaxespad=0,
        )
        axes.grid(axis="y", color=RULE)

    return _by_method(methods, draw, key)
