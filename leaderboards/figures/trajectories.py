"""Figures of a score against computing time: a line for each method through its results under rising time budgets."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.svg import INK, MUTED, OURS, THEIRS, dress, svg
from lockstep_bench.leaderboards.wording.formats import shortened, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (3.5, 2.8)  # inches
LONGEST = 15  # characters of a name
COLOURS, STYLES = (OURS, THEIRS, INK, MUTED), ("-", (0, (4, 2)), (0, (1, 1.4)))
GAP, FONT = 8.6, 7.2  # points: between the middles of names, and their size


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
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    from matplotlib.transforms import Affine2D

    def draw(figure: "Figure") -> None:
        axes = figure.add_axes((0.14, 0.16, 0.56, 0.74), facecolor="none")
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
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        dress(axes)
        ends = sorted(ends, key=lambda end: end[1])
        scale = 72 / figure.dpi
        in_points = Affine2D().scale(1 / 72) + figure.dpi_scale_trans
        points_at = [axes.transData.transform((x, np.clip(y, *axes.get_ylim()))) * scale for x, y, *_ in ends]
        (_, foot), (right, head) = (axes.transAxes.transform(corner) * scale for corner in ((0, 0), (1, 1)))
        heights = _apart(np.array([height for _, height in points_at]), foot, head)
        for (_, _, method, colour), end, height in zip(ends, points_at, heights, strict=True):
            lead = Line2D([end[0], right + 8], [end[1], height], color=colour, linewidth=0.5, alpha=0.5)
            lead.set_transform(in_points)
            figure.add_artist(lead)
            name = shortened(visible(method), LONGEST)
            axes.annotate(
                name, (right + 10, height), xycoords="figure points", color=colour, fontsize=FONT, va="center"
            )

    return Markup(svg(draw, SIZE, key))


def _apart(heights: np.ndarray, foot: float, head: float) -> np.ndarray:
    """Return the heights of names, at least `GAP` apart and as near to the given ascending heights as squares allow.

    They lie between `foot` and `head` if there is room.
    """
    from scipy.optimize import isotonic_regression

    steps = GAP * np.arange(len(heights))
    fitted = isotonic_regression(heights - steps).x
    return np.clip(fitted, foot, max(head - steps[-1], foot)) + steps


def _window(scores: np.ndarray) -> tuple[float, float]:
    """Return the ends of the axis: all scores but those more than 3 interquartile ranges above the upper quartile."""
    known = scores[np.isfinite(scores)]
    lower, upper = np.quantile(known, [0.25, 0.75])
    kept = known[known <= upper + 3 * (upper - lower)]
    margin = 0.06 * np.ptp(kept) or 0.5
    return kept.min() - margin, kept.max() + margin
