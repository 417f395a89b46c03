"""Figures of the suites that know the truth: contours of two weights, principal axes of more, bands of a function,
distances along a stream.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from leaderboards.formats import visible
from leaderboards.panels import WIDTH, dress, panels
from leaderboards.svg import INK, MUTED, OURS, RULE, THEIRS, svg

REACH = 4.0  # standard deviations of the truth that a panel of contours shows either way
LEVELS = (1.0, 2.0)  # standard deviations of contours
AXES_REACH = 5.0  # standard deviations of the truth that a panel of principal axes shows either way
LINES = ((OURS, "-"), (THEIRS, "-"), (INK, "--"), (MUTED, "-."), (OURS, ":"), (THEIRS, "--"))


def contours(tables: Mapping[str, pd.DataFrame], key: str) -> str:
    """SVG, a panel per method: ellipses of its Gaussian at 1 and 2 sd over the truth's density, a kernel estimate.

    `tables` have the columns of `bench.schema.POSTERIORS`, of two weights.
    """
    truth = next(iter(tables.values())).set_index("who").loc["truth"]
    draws = np.reshape(truth["draws"], (-1, 2))
    centre, spread = truth["mean"], np.sqrt(np.diag(np.reshape(truth["covariance"], (2, 2))))

    def panel(axes: Axes, method: str) -> None:
        masses = [1 - np.exp(-(level**2) / 2) for level in LEVELS]
        sns.kdeplot(
            x=draws[:, 0], y=draws[:, 1], levels=[1 - masses[1], 1 - masses[0], 1], fill=True, color=RULE, ax=axes
        )
        own = tables[method].set_index("who").loc["method"]
        values, vectors = np.linalg.eigh(np.reshape(own["covariance"], (2, 2)))
        angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
        for level in LEVELS:
            height, width = 2 * level * np.sqrt(values.clip(min=0))
            axes.add_patch(Ellipse(own["mean"], width, height, angle=angle, fill=False, edgecolor=OURS, linewidth=1.3))
        axes.plot(*own["mean"], "+", color=OURS, markersize=6)
        for limits, middle, sd in zip((axes.set_xlim, axes.set_ylim), centre, spread, strict=True):
            limits(middle - REACH * sd, middle + REACH * sd)

    return panels(list(tables), panel, ("weight 1", "weight 2"), key)


def principal_axes(tables: Mapping[str, pd.DataFrame], key: str) -> str:
    """SVG, a panel per method: mean +-2 sd of its Gaussian along each principal axis of the true one, in true sd.

    `tables` have the columns of `bench.schema.POSTERIORS`.
    """

    def panel(axes: Axes, method: str) -> None:
        middle, sd = along_principal_axes(tables[method])
        dim = len(middle)
        axis = np.arange(1, dim + 1)
        axes.axhspan(-2, 2, color=RULE, linewidth=0)
        axes.vlines(axis, middle - 2 * sd, middle + 2 * sd, color=OURS, linewidth=min(3, 60 / dim))
        axes.plot(axis, middle, ".", color=INK, markersize=min(4, 90 / dim))
        axes.set_xlim(0.5, dim + 0.5)
        axes.set_ylim(-AXES_REACH, AXES_REACH)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=2))

    return panels(list(tables), panel, ("principal axis", "true sd"), key)


def along_principal_axes(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd (D,) of a method's Gaussian along the true one's principal axes, in the true sd of each.

    With the eigenvectors v_i and eigenvalues l_i of the true covariance, largest first, a method of mean m and
    covariance S has the mean v_i'(m - m_true) / sqrt(l_i) and the variance v_i' S v_i / l_i. `table` has the columns
    of `bench.schema.POSTERIORS`.
    """
    truth, own = (table.set_index("who").loc[who] for who in ("truth", "method"))
    true_covariance, covariance = (np.reshape(one["covariance"], 2 * [len(one["mean"])]) for one in (truth, own))
    values, vectors = np.linalg.eigh(true_covariance)
    axes = vectors[:, ::-1] / np.sqrt(values[::-1])
    variances = np.einsum("di,de,ei->i", axes, covariance, axes)
    return axes.T @ (own["mean"] - truth["mean"]), np.sqrt(variances.clip(min=0))


def bands(tables: Mapping[str, pd.DataFrame], train: tuple[np.ndarray, np.ndarray] | None, key: str) -> str:
    """SVG, a panel per method: mean and +-2 sd of its function, the reference's band as dotted lines, training points.

    `tables` have the columns of `bench.schema.BANDS`; `train` is (x (N,), y (N,)).
    """
    first = next(iter(tables.values()))
    edges = [first["reference_mean"] + sign * 2 * first["reference_sd"] for sign in (-1, 1)]
    middle = (first["x"] > -1.5) & (first["x"] < 1.5)
    low, high = edges[0][middle].min(), edges[1][middle].max()

    def panel(axes: Axes, method: str) -> None:
        own = tables[method]
        half = 2 * own["sd"]
        axes.fill_between(own["x"], own["mean"] - half, own["mean"] + half, color=OURS, alpha=0.22, linewidth=0)
        sns.lineplot(x=own["x"], y=own["mean"], color=OURS, linewidth=1.4, ax=axes)
        for edge in edges:
            axes.plot(first["x"], edge, ":", color=INK, linewidth=1)
        if train is not None:
            axes.plot(*train, ".", color=THEIRS, markersize=2)
        axes.set_ylim(low, high)

    return panels(list(tables), panel, ("x", "y"), key)


def curves(runs: pd.DataFrame, metric: str, title: str, key: str) -> str:
    """SVG: a metric against the number of vectors seen, mean and standard error over splits, a line per method.

    `runs` has the columns method, n_samples and the metric.
    """

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.09, 0.2, 0.62, 0.76), facecolor="none")
        for (colour, style), (method, own) in zip(LINES, runs.groupby("method", sort=False), strict=False):
            sns.lineplot(
                own,
                x="n_samples",
                y=metric,
                errorbar="se",
                err_style="bars",
                color=colour,
                linestyle=style,
                marker="o",
                markersize=4,
                markeredgewidth=0,
                label=visible(method),
                ax=axes,
            )
        axes.set(xscale="log", yscale="log", xlabel="vectors seen", ylabel=title)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))  # no powers: they want mathtext
            axis.set_minor_locator(NullLocator())
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False, labelcolor=INK)
        dress(axes)

    return svg(draw, (WIDTH, 2.9), key)
