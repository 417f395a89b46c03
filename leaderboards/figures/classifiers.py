"""Figures of classifiers: reliability, confidence on OOD data, selective prediction, performance under shift."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.panels import PanelScale, note, panels
from lockstep_bench.leaderboards.wording.formats import listed, number, visible
from lockstep_bench.shared.schema import SHIFT_FAMILIES

HISTOGRAM = 0.3  # height of a bin that has all points, as a share of the panel's height
UNIT = PanelScale((0, 1), (0, 1))
HALVES = (0, 0.5, 1)
GROUPS = {"test": "line ink dashed", "near": "line ours", "far": "line theirs"}
MOST_SETS = 3  # that a legend names
SELECTORS = {"entropy": "ours", "disagreement": "theirs dashed"}
FENCE = 4  # values further below the lower quartile than this many interquartile ranges are off the scale


def reliability(runs: pd.DataFrame, errors: Mapping[str, str]) -> Markup:
    """Return a panel per method: accuracy against confidence in bins over all splits, and the share of points per bin.

    Args:
        runs: one row per bin and run; columns of `shared.schema.RELIABILITY`, and method, split and seed.
        errors: calibration error of each method, in words.
    """

    def panel(method: str) -> list[str]:
        bins = pooled_bins(runs[runs["method"] == method])
        shares = HISTOGRAM * bins["count"] / bins["count"].sum()
        middle, half = (bins["low"] + bins["high"]) / 2, 0.4 * (bins["high"] - bins["low"])
        edges = zip(middle - half, middle + half, shares, strict=True)
        x, y = (bins[name].to_numpy() for name in ("confidence", "accuracy"))
        across, up = _with_crossings(x, y)
        return [
            *(UNIT.band([left, right], [0, 0], [share, share], "muted") for left, right, share in edges),
            UNIT.line([0, 1], [0, 1], "muted thin dashed"),
            UNIT.band(across, np.minimum(across, up), across, "theirs"),
            UNIT.band(across, across, np.maximum(across, up), "ours"),
            UNIT.line(x, y, "ink thin"),
            UNIT.dots(x, y, "ink"),
            note(errors[method], 0.04),
        ]

    legend = [("area theirs", "overconfident"), ("area ours", "underconfident"), ("area muted", "share of test points")]
    return panels(_methods(runs), panel, UNIT, (HALVES, HALVES), ("confidence", "accuracy"), legend)


def pooled_bins(bins: pd.DataFrame) -> pd.DataFrame:
    """Return the non-empty reliability bins (`shared.schema.RELIABILITY`) of several runs, pooled by counts."""
    filled = bins[bins["count"] > 0]
    means = ["confidence", "accuracy"]
    weighted = filled.assign(**{name: filled[name] * filled["count"] for name in means})
    sums = weighted.groupby(["low", "high"], as_index=False)[["count", *means]].sum()
    return sums.assign(**{name: sums[name] / sums["count"] for name in means})


def confidence(runs: pd.DataFrame) -> Markup:
    """Return a panel per method: the fraction of points with confidence above each threshold, mean over runs.

    `runs` has the columns of `shared.schema.CONFIDENCE` and method, split and seed.
    """
    shares = runs.assign(share=runs["count"] / runs["n"])
    curves = shares.groupby(["method", "group", "set", "threshold"], sort=False)["share"].mean().reset_index()
    curves = curves[(100 * curves["threshold"]).round() % 2 == 0]  # a finer line only makes the page heavier
    by_method = dict(tuple(curves.groupby("method", sort=False)))
    names = {str(group): list(dict.fromkeys(part["set"])) for group, part in runs.groupby("group", sort=False)}

    def panel(method: str) -> list[str]:
        parts = by_method[method].groupby(["group", "set"], sort=False)
        return [
            UNIT.line(curve["threshold"], curve["share"], GROUPS[str(group)].removeprefix("line "))
            for (group, _), curve in parts
        ]

    legend = [
        (GROUPS[group], "test points" if group == "test" else f"{group}: {listed(list(map(visible, sets)), MOST_SETS)}")
        for group, sets in names.items()
    ]
    return panels(_methods(runs), panel, UNIT, (HALVES, HALVES), ("threshold", "fraction"), legend)


def selective(runs: pd.DataFrame) -> Markup:
    """Return a panel per method: accuracy on its most certain test points, mean and standard error over runs.

    `runs` has the columns of `shared.schema.SELECTIVE` and method, split and seed.
    """
    percent = runs.assign(percent=100 * runs["retained"])
    over_runs = percent.groupby(["method", "uncertainty", "percent"])["accuracy"].agg(["mean", "sem"])
    typical = over_runs["mean"].xs("entropy", level="uncertainty").groupby("percent").median()
    lowest = floor(over_runs["mean"].to_numpy())
    scale = PanelScale((100, 50), (lowest, 1.0))

    def panel(method: str) -> list[str]:
        marks = [scale.line(typical.index, typical, "muted thin dotted")]
        by_uncertainty = over_runs.loc[method]
        for uncertainty, kind in SELECTORS.items():
            if uncertainty in by_uncertainty.index:
                part = by_uncertainty.loc[uncertainty]
                mean, error = part["mean"], part["sem"].fillna(0.0)
                marks.append(scale.band(part.index, mean - error, mean + error, kind.split()[0]))
                marks.append(scale.line(part.index, mean, kind))
        best = percent.loc[percent["method"] == method, "accuracy"].max()
        return [*marks, note(f"↓ {number(best, 2)} at most", 0.04)] if best < lowest else marks

    legend = [(f"line {kind}", f"by {name}") for name, kind in SELECTORS.items()]
    legend.append(("line muted thin dotted", "median of the methods, by entropy"))
    places = (float(np.ceil(100 * lowest) / 100), 1.0)  # rounded up: 0.96 for 0.9512
    return panels(_methods(runs), panel, scale, ((100, 75, 50), places), ("% kept", "accuracy"), legend)


def floor(values: np.ndarray) -> float:
    """Return the lower end of an axis for `values`, whose upper end is 1.

    The axis begins slightly below the smallest value. Values more than 4 interquartile ranges below the lower quartile
    are ignored; otherwise a single bad method would compress all others.
    """
    lower, upper = np.quantile(values, [0.25, 0.75])
    lowest = values[values >= lower - FENCE * (upper - lower)].min()
    return max(0.0, float(lowest - 0.06 * (1 - lowest) - 0.002))


def shifts(runs: pd.DataFrame, family: str) -> Markup:
    """Return a panel per method: accuracy and ECE against the severity of the shifts of one family.

    The line is the mean over shifts and runs, the band the middle half of the shifts. `runs` has the columns of
    `shared.schema.SHIFTS` and method, split and seed.
    """
    of_family = runs[(runs["family"] == family) | runs["family"].isna()]
    names = ["accuracy", "ece"]
    over_runs = of_family.groupby(["method", "shift", "severity"], dropna=False)[names].mean()
    by_severity = over_runs.groupby(["method", "severity"])[names]
    means, low, high = by_severity.mean(), by_severity.quantile(0.25), by_severity.quantile(0.75)
    typical = means.groupby("severity").median()
    most = float(typical.index.max())
    scale = PanelScale((0, most), (0, 1))

    def panel(method: str) -> list[str]:
        marks = []
        for name, kind in zip(names, ("ours", "theirs"), strict=True):
            mean, lower, upper = (frame[name].loc[method] for frame in (means, low, high))
            marks += [
                scale.line(typical.index, typical[name], "muted thin dotted"),
                scale.band(mean.index, lower, upper, kind),
                scale.line(mean.index, mean, kind),
            ]
        return marks

    legend = [
        ("line ours", "accuracy"),
        ("line theirs", "ECE"),
        ("line muted thin dotted", "median of the methods"),
    ]
    return panels(_methods(runs), panel, scale, ((0, most), HALVES), (SHIFT_FAMILIES[family], ""), legend)


def _with_crossings(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the line x, y (N,), where x increases, with a point added wherever it crosses the diagonal."""
    gap = y - x
    before = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    crossings = x[before] + gap[before] / (gap[before] - gap[before + 1]) * (x[before + 1] - x[before])
    return np.insert(x, before + 1, crossings), np.insert(y, before + 1, crossings)


def _methods(runs: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(runs["method"]))
