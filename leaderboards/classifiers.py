"""Figures of classifiers: how well calibrated they are, how sure far from their data, how good where they are sure, how
they fare under shift.
"""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.schema import SHIFT_FAMILIES
from leaderboards.formats import number, visible
from leaderboards.panels import panels, ticks
from leaderboards.svg import INK, MUTED, OURS, THEIRS

RUN = ["method", "split", "seed"]
HISTOGRAM = 0.3  # of a panel's height, of a bin that has all points
GROUP_COLOURS = {"test": INK, "near": OURS, "far": THEIRS}
FENCE = 4  # interquartile ranges below the lower quartile


def reliability(runs: pd.DataFrame, key: str) -> str:
    """SVG, a panel per method: accuracy against confidence in bins over all runs, and how many points each bin has.

    `runs` has the columns of `bench.schema.RELIABILITY` and of `RUN`.
    """
    errors = runs.groupby(RUN)[["confidence", "accuracy", "count"]].apply(calibration_error).groupby("method").mean()

    def panel(axes: Axes, method: str) -> None:
        bins = pooled_bins(runs[runs["method"] == method])
        share = bins["count"] / bins["count"].sum()
        middle, width = (bins["low"] + bins["high"]) / 2, bins["high"] - bins["low"]
        axes.bar(middle, HISTOGRAM * share, 0.8 * width, color=MUTED, alpha=0.3, linewidth=0)
        axes.plot([0, 1], [0, 1], "--", color=MUTED, linewidth=0.8)
        x, y = bins["confidence"], bins["accuracy"]
        for colour, where in ((THEIRS, y <= x), (OURS, y >= x)):
            axes.fill_between(x, x, y, where=where, interpolate=True, color=colour, alpha=0.25, linewidth=0)
        sns.lineplot(x=x, y=y, color=INK, linewidth=1, marker="o", markersize=2, markeredgewidth=0, ax=axes)
        axes.text(0.97, 0.04 + HISTOGRAM, f"ECE {number(errors[method], 3)}", ha="right", color=MUTED, fontsize=7)
        axes.set(ylim=(0, 1), yticks=(0, 0.5, 1))
        ticks(axes, (0, 0.5, 1))

    legend = [
        Patch(color=THEIRS, alpha=0.4, linewidth=0, label="too sure"),
        Patch(color=OURS, alpha=0.4, linewidth=0, label="not sure enough"),
        Patch(color=MUTED, alpha=0.4, linewidth=0, label="share of test points"),
    ]
    return panels(_methods(runs), panel, ("confidence", "accuracy"), key, legend)


def calibration_error(bins: pd.DataFrame) -> float:
    """sum_b (n_b / n) |accuracy_b - confidence_b| over one run's bins of `bench.schema.RELIABILITY`."""
    gaps = (bins["accuracy"] - bins["confidence"]).abs()
    return (bins["count"] * gaps).sum() / bins["count"].sum()  # empty bins have no gap, which a sum passes over


def pooled_bins(bins: pd.DataFrame) -> pd.DataFrame:
    """The bins of several runs of `bench.schema.RELIABILITY` as if all points were of one; without the empty ones."""
    filled = bins[bins["count"] > 0]
    means = ["confidence", "accuracy"]
    weighted = filled.assign(**{name: filled[name] * filled["count"] for name in means})
    sums = weighted.groupby(["low", "high"], as_index=False)[["count", *means]].sum()
    return sums.assign(**{name: sums[name] / sums["count"] for name in means})


def confidence(runs: pd.DataFrame, key: str) -> str:
    """SVG, a panel per method: the fraction of points of a confidence above each threshold, mean over runs.

    `runs` has the columns of `bench.schema.CONFIDENCE` and of `RUN`.
    """
    shares = runs.assign(share=runs["count"] / runs["n"])
    curves = shares.groupby(["method", "group", "set", "threshold"], sort=False)["share"].mean().reset_index()
    curves = curves[(100 * curves["threshold"]).round() % 2 == 0]  # a finer line only makes the page heavier
    names = {group: list(dict.fromkeys(part["set"])) for group, part in runs.groupby("group", sort=False)}

    def panel(axes: Axes, method: str) -> None:
        for (group, _), own in curves[curves["method"] == method].groupby(["group", "set"], sort=False):
            axes.plot(own["threshold"], own["share"], **_style(group))
        axes.set(ylim=(0, 1.02), yticks=(0, 0.5, 1))
        ticks(axes, (0, 0.5, 1))

    legend = [
        Line2D([], [], label="test points" if group == "test" else f"{group}: {_few(sets)}", **_style(group))
        for group, sets in names.items()
    ]
    return panels(_methods(runs), panel, ("threshold", "fraction"), key, legend)


def _style(group: str) -> dict:
    return {"color": GROUP_COLOURS[group], "linewidth": 1.1, "linestyle": (0, (3, 2)) if group == "test" else "-"}


def _few(names: list[str]) -> str:
    shown = ", ".join(map(visible, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def selective(runs: pd.DataFrame, key: str) -> str:
    """SVG, a panel per method: accuracy on the test points that it is most certain of, mean and standard error.

    `runs` has the columns of `bench.schema.SELECTIVE` and of `RUN`.
    """
    percent = runs.assign(percent=100 * runs["retained"])
    by_method = percent.groupby(["method", "uncertainty", "percent"])["accuracy"].mean()
    typical = by_method.xs("entropy", level="uncertainty").groupby("percent").median()
    lowest = floor(by_method.to_numpy())

    def panel(axes: Axes, method: str) -> None:
        axes.plot(typical.index, typical, ":", color=MUTED, linewidth=1)
        own = percent[percent["method"] == method]
        for uncertainty, style in {
            "entropy": {"color": OURS, "linestyle": "-"},
            "disagreement": {"color": THEIRS, "linestyle": (0, (3, 2))},
        }.items():
            part = own[own["uncertainty"] == uncertainty]
            sns.lineplot(part, x="percent", y="accuracy", errorbar="se", linewidth=1.3, ax=axes, **style)
        best = own["accuracy"].max()
        if best < lowest:
            axes.text(98, lowest, f"↓ {number(best, 2)} at most", va="bottom", color=MUTED, fontsize=7)
        axes.set_ylim(lowest, 1.0)
        ticks(axes, (100, 75, 50))

    legend = [
        Line2D([], [], color=OURS, linewidth=1.3, label="by entropy"),
        Line2D([], [], color=THEIRS, linewidth=1.3, linestyle=(0, (3, 2)), label="by disagreement"),
        Line2D([], [], color=MUTED, linewidth=1, linestyle=":", label="median of the methods, by entropy"),
    ]
    return panels(_methods(runs), panel, ("% kept", "accuracy"), key, legend)


def floor(values: np.ndarray) -> float:
    """The lower end of an axis up to 1: every value, but none below the lower quartile by more than 4 of its ranges.

    A method that has learnt nothing must not press all others into one line.
    """
    lower, upper = np.quantile(values, [0.25, 0.75])
    lowest = values[values >= lower - FENCE * (upper - lower)].min()
    return max(0.0, lowest - 0.06 * (1 - lowest) - 0.002)


def shifts(runs: pd.DataFrame, family: str, key: str) -> str:
    """SVG, a panel per method: accuracy and ECE against the severity of the shifts of one family.

    The line is the mean over shifts and runs, the band the middle half of the shifts. `runs` has the columns of
    `bench.schema.SHIFTS` and of `RUN`.
    """
    here = runs[(runs["family"] == family) | runs["family"].isna()]
    means = here.groupby(["method", "shift", "severity"], dropna=False)[["accuracy", "ece"]].mean().reset_index()
    typical = means.groupby(["method", "severity"])[["accuracy", "ece"]].mean().groupby("severity").median()
    colours = {"accuracy": OURS, "ece": THEIRS}

    def panel(axes: Axes, method: str) -> None:
        own = means[means["method"] == method]
        for name, colour in colours.items():
            axes.plot(typical.index, typical[name], ":", color=MUTED, linewidth=1)
            band = {"alpha": 0.2, "linewidth": 0}
            sns.lineplot(
                own, x="severity", y=name, errorbar=("pi", 50), err_kws=band, color=colour, linewidth=1.3, ax=axes
            )
        axes.set(ylim=(0, 1), yticks=(0, 0.5, 1))
        ticks(axes, (0, typical.index.max()))

    legend = [
        Line2D([], [], color=OURS, linewidth=1.3, label="accuracy"),
        Line2D([], [], color=THEIRS, linewidth=1.3, label="ECE"),
        Line2D([], [], color=MUTED, linewidth=1, linestyle=":", label="median of the methods"),
    ]
    return panels(_methods(runs), panel, (SHIFT_FAMILIES[family], ""), key, legend)


def _methods(runs: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(runs["method"]))
