"""Figures of a score against computing time: a line for each method through its results under rising time budgets."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from lockstep_bench.leaderboards.figures.svg import INK, MUTED, OURS, THEIRS, dress, svg
from lockstep_bench.leaderboards.wording.formats import shortened, visible

SIZE = (3.75, 2.9)  # inches
LONGEST = 18  # characters of a name
COLOURS, STYLES = (OURS, THEIRS, INK, MUTED), ("-", (0, (4, 2)), (0, (1, 1.4)))
GAP = 7.5  # points between names


def trajectories(points: pd.DataFrame, methods: list[str], title: str, label: str, key: str) -> Markup:
    """Return the figure of a score (vertical) against seconds (horizontal, logarithmic).

    Args:
        points: columns method, seconds and score; one row per time budget, in the order in which a method's line joins
            them.
        methods: every method of a page, so that each has the same colour and dashes in all its figures.
        title: title of the figure.
        label: title of the vertical axis.
        key: prefix for the ids of HTML elements, unique within a page.
    """

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.13, 0.15, 0.63, 0.75), facecolor="none")
        ends = []
        for method, line in points.groupby("method", sort=False):
            place = methods.index(str(method))
            colour = COLOURS[place % len(COLOURS)]
            dashes = STYLES[place // len(COLOURS) % len(STYLES)]
            axes.plot(line["seconds"], line["score"], color=colour, linestyle=dashes, linewidth=1.3, marker=".")
            ends.append((float(line["seconds"].iloc[-1]), float(line["score"].iloc[-1]), str(method), colour))
        axes.set(xscale="log", xlabel="seconds of tuning and training", ylabel=label)
        axes.set_title(visible(title), color=INK, fontsize=8.5, loc="left")
        axes.set_ylim(*_window(points["score"].to_numpy()))
        axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        dress(axes)
        scale = 72 / figure.dpi
        right = axes.transAxes.transform((1, 0))[0] * scale + 5
        below = -np.inf
        for _, score, method, colour in sorted(ends, key=lambda end: end[1]):
            at = axes.transData.transform((1, np.clip(score, *axes.get_ylim())))[1] * scale
            below = max(at, below + GAP)
            name = shortened(visible(method), LONGEST)
            axes.annotate(name, (right, below), xycoords="figure points", color=colour, fontsize=6.5, va="center")

    return Markup(svg(draw, SIZE, key))


def _window(scores: np.ndarray) -> tuple[float, float]:
    """Return the ends of the axis: all scores but those more than 3 interquartile ranges above the upper quartile."""
    known = scores[np.isfinite(scores)]
    lower, upper = np.quantile(known, [0.25, 0.75])
    kept = known[known <= upper + 3 * (upper - lower)]
    margin = 0.06 * np.ptp(kept) or 0.5
    return kept.min() - margin, kept.max() + margin
