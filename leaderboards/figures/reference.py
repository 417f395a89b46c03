"""Figures that compare with a reference posterior: weight contours, principal axes, function bands, distance curves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.panels import PanelScale, panels
from lockstep_bench.leaderboards.figures.svg import INK, MUTED, OURS, THEIRS, WIDTH, dress, svg
from lockstep_bench.leaderboards.wording.formats import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REACH = 4.0  # standard deviations of the reference that a panel of contours shows either way
LEVELS = (1.0, 2.0)  # standard deviations of contours
GRID = 40  # points along each axis of a panel at which a density is estimated
MANY_AXES = 20  # with more axes than this, lines are thin
AXES_REACH = 5.0  # standard deviations of the reference that a panel of principal axes shows either way
LINES = ((OURS, "-"), (THEIRS, "-"), (INK, "--"), (MUTED, "-."), (OURS, ":"), (THEIRS, "--"))


def contours(tables: Mapping[str, pd.DataFrame]) -> Markup:
    """Return a panel per method: 1 and 2 sd ellipses of its Gaussian over the density of the reference posterior.

    `tables` have, by method, the columns of `shared.schema.POSTERIORS` for two weights. The density is a kernel
    estimate. If a table has draws of the method, they are the vectors that the Gaussian was fitted to, and are shown as
    dots.
    """
    reference = next(iter(tables.values())).set_index("who").loc["truth"]
    draws = np.reshape(reference["draws"], (-1, 2))
    spread = np.sqrt(np.diag(np.reshape(reference["covariance"], (2, 2))))
    ends = np.stack([reference["mean"] - REACH * spread, reference["mean"] + REACH * spread], axis=1).tolist()
    scale = PanelScale(*map(tuple, ends))
    below = [scale.area(outline[:, 0], outline[:, 1], "muted") for outline in densest(draws, scale)]
    turn = np.linspace(0, 2 * np.pi, 60)
    circle = np.stack([np.cos(turn), np.sin(turn)])

    def panel(method: str) -> list[str]:
        gaussian = tables[method].set_index("who").loc["method"]
        values, vectors = np.linalg.eigh(np.reshape(gaussian["covariance"], (2, 2)))
        shape = vectors @ (np.sqrt(values.clip(min=0))[:, None] * circle)
        x, y = gaussian["mean"]
        vectors = np.reshape([] if gaussian["draws"] is None else gaussian["draws"], (-1, 2))
        fitted = [scale.dots(vectors[:, 0], vectors[:, 1], "theirs")] if len(vectors) else []
        cross = [x - spread[0] / 4, x + spread[0] / 4], [y - spread[1] / 4, y + spread[1] / 4]
        return [
            *below,
            *fitted,
            *(scale.line(x + level * shape[0], y + level * shape[1], "ours") for level in LEVELS),
            scale.line(cross[0], [y, y], "ours"),
            scale.line([x, x], cross[1], "ours"),
        ]

    ticks = _round_places(*scale.x), _round_places(*scale.y)
    return panels(list(tables), panel, scale, ticks, ("weight 1", "weight 2"))


def densest(draws: np.ndarray, scale: PanelScale) -> list[np.ndarray]:
    """Return outlines (n, 2) of the highest-density regions whose masses are those of a Gaussian within `LEVELS` sd.

    The density is a kernel estimate from the draws (N, 2). The region of mass m is where the density exceeds the (1 -
    m) quantile of its values at the draws (Hyndman 1996).
    """
    from matplotlib.figure import Figure
    from scipy.stats import gaussian_kde

    density = gaussian_kde(draws.T)
    x, y = (np.linspace(low, high, GRID) for low, high in scale)
    heights = density(np.stack(np.meshgrid(x, y)).reshape(2, -1)).reshape(GRID, GRID)
    at_draws = density(draws[:: max(len(draws) // GRID**2, 1)].T)
    levels = [float(np.quantile(at_draws, np.exp(-(level**2) / 2))) for level in sorted(LEVELS, reverse=True)]
    drawn = Figure().add_subplot().contour(x, y, heights, levels)
    return [outline for outlines in drawn.allsegs for outline in outlines]


def _round_places(low: float, high: float) -> list[float]:
    """Return two or three round numbers between the ends."""
    from matplotlib.ticker import MaxNLocator

    return [place for place in MaxNLocator(3).tick_values(low, high) if low <= place <= high]


def principal_axes(tables: Mapping[str, pd.DataFrame]) -> Markup:
    """Return a panel per method: mean +-2 sd of its Gaussian along the principal axes of the reference posterior.

    The unit along each axis is the reference's standard deviation. `tables` have, by method, the columns of
    `shared.schema.POSTERIORS`.
    """
    moments = {method: along_principal_axes(table) for method, table in tables.items()}
    dim = len(next(iter(moments.values()))[0])
    scale = PanelScale((0.5, dim + 0.5), (-AXES_REACH, AXES_REACH))
    kind = "ours thin" if dim > MANY_AXES else "ours"

    def panel(method: str) -> list[str]:
        middle, sd = moments[method]
        bars = (
            scale.line([axis, axis], [at - 2 * reach, at + 2 * reach], kind)
            for axis, (at, reach) in enumerate(zip(middle, sd, strict=True), start=1)
        )
        reference = scale.band(scale.x, [-2, -2], [2, 2], "muted")
        return [reference, *bars, scale.dots(np.arange(1, dim + 1), middle, "ink")]

    return panels(list(tables), panel, scale, ((1, dim), (-4, 0, 4)), ("principal axis", "reference sd"))


def along_principal_axes(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and sd (D,) of a method's Gaussian along the reference posterior's principal axes, in reference sd.

    With the eigenvectors v_i and eigenvalues l_i of the reference's covariance, largest first, a method of mean m and
    covariance S has the mean v_i'(m - m_ref) / sqrt(l_i) and the variance v_i' S v_i / l_i. `table` has the columns
    of `shared.schema.POSTERIORS`.
    """
    reference, method = (table.set_index("who").loc[who] for who in ("truth", "method"))
    shape = 2 * [len(reference["mean"])]
    values, vectors = np.linalg.eigh(np.reshape(reference["covariance"], shape))
    covariance = np.reshape(method["covariance"], shape)
    axes = vectors[:, ::-1] / np.sqrt(values[::-1])
    variances = np.einsum("di,de,ei->i", axes, covariance, axes)
    return axes.T @ (method["mean"] - reference["mean"]), np.sqrt(variances.clip(min=0))


def bands(tables: Mapping[str, pd.DataFrame], train: tuple[np.ndarray, np.ndarray] | None) -> Markup:
    """Return a panel per method: mean +-2 sd of its function, the reference posterior's (dotted), and training points.

    `tables` have the columns of `shared.schema.BANDS`; `train` is (x (N,), y (N,)).
    """
    first = next(iter(tables.values()))
    edges = [first["reference_mean"] + sign * 2 * first["reference_sd"] for sign in (-1, 1)]
    middle = (first["x"] > -1.5) & (first["x"] < 1.5)
    ends = float(first["x"].min()), float(first["x"].max())
    scale = PanelScale(ends, (float(edges[0][middle].min()), float(edges[1][middle].max())))
    reference = [scale.line(first["x"], edge, "ink thin dotted") for edge in edges]
    points = [] if train is None else [scale.dots(*train, "theirs")]

    def panel(method: str) -> list[str]:
        function = tables[method]
        half = 2 * function["sd"]
        return [
            scale.band(function["x"], function["mean"] - half, function["mean"] + half, "ours"),
            scale.line(function["x"], function["mean"], "ours"),
            *reference,
            *points,
        ]

    ticks = _round_places(*scale.x), _round_places(*scale.y)
    return panels(list(tables), panel, scale, ticks, ("x", "y"))


def curves(runs: pd.DataFrame, metric: str, title: str, key: str) -> str:
    """Return SVG of a metric against the number of vectors seen: mean and standard error, a line per method.

    `runs` has the columns method, n_samples and the metric.
    """
    import seaborn as sns  # takes a second to import
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    def draw(figure: "Figure") -> None:
        axes = figure.add_axes((0.09, 0.2, 0.62, 0.76), facecolor="none")
        for (colour, style), (method, curve) in zip(LINES, runs.groupby("method", sort=False), strict=False):
            sns.lineplot(
                curve,
                x="n_samples",
                y=metric,
                errorbar="se",
                err_style="bars",
                color=colour,
                linestyle=style,
                marker="o",
                markersize=4,
                markeredgewidth=0,
                label=visible(str(method)),
                ax=axes,
            )
        axes.set(xscale="log", yscale="log", xlabel="vectors seen", ylabel=title)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(
                FuncFormatter(lambda value, _: f"{value:,.6g}")
            )  # powers of ten would need mathtext
            axis.set_minor_locator(NullLocator())
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False, labelcolor=INK)
        dress(axes)

    return svg(draw, (WIDTH, 2.9), key)
