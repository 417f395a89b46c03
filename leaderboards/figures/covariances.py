"""Figures that compare posterior covariances, means and deviations with those of the reference posterior."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.panels import PanelScale, panels

REFERENCE = "reference"
LEVELS = 6  # shades of a heat map
MOST_WEIGHTS = 20  # of a posterior whose heat map has squares that can be distinguished


def heat_maps(tables: Mapping[str, pd.DataFrame]) -> Markup:
    """Return a heat map of the off-diagonal covariances for the reference posterior and for each method.

    The shade of a square is proportional to the covariance. The darkest shade is that of the reference posterior's
    covariance of largest absolute value.

    Args:
        tables: columns of `shared.schema.POSTERIORS`, by method.
    """
    reference, *_ = (_moments(table, "truth") for table in tables.values())
    covariances = {REFERENCE: reference[1]} | {name: _moments(table, "method")[1] for name, table in tables.items()}
    largest = np.abs(_off_diagonal(reference[1])).max() or 1.0
    dim = len(reference[0])
    scale = PanelScale((0, dim), (dim, 0))

    def panel(name: str) -> list[str]:
        shades = np.clip(_off_diagonal(covariances[name]) / largest, -1, 1) * LEVELS
        levels = np.rint(shades).astype(int)
        return [
            _squares(np.argwhere(levels == level), scale, f"{'ours' if level > 0 else 'theirs'} heat{abs(level)}")
            for level in np.unique(levels)
            if level
        ]

    legend = [("area ours heat6", "positive"), ("area theirs heat6", "negative")]
    return panels(list(covariances), panel, scale, ((), ()), ("", ""), legend)


def means_and_deviations(tables: Mapping[str, pd.DataFrame]) -> Markup:
    """Return a panel per method with each weight's mean ± 2 standard deviations, over those of the reference in grey.

    Args:
        tables: columns of `shared.schema.POSTERIORS`, by method.
    """
    reference = _moments(next(iter(tables.values())), "truth")
    moments = {name: _moments(table, "method") for name, table in tables.items()}
    every = [part for mean, covariance in (reference, *moments.values()) for part in _interval(mean, covariance)]
    low, high = float(np.min(every)), float(np.max(every))
    margin = 0.05 * (high - low or 1.0)
    scale = PanelScale((0.3, len(reference[0]) + 0.7), (low - margin, high + margin))

    def panel(name: str) -> list[str]:
        marks = []
        for shift, kind, pair in ((-0.15, "muted", reference), (0.15, "ours", moments[name])):
            for number, ends in enumerate(zip(*_interval(*pair), strict=True), 1):
                marks.append(scale.line([number + shift] * 2, ends, kind))
            marks.append(scale.dots(np.arange(len(pair[0])) + 1 + shift, pair[0], "ink" if kind == "muted" else kind))
        return marks

    return panels(list(moments), panel, scale, ((1, len(reference[0])), (0,)), ("weight", "mean ± 2 sd"))


def _moments(table: pd.DataFrame, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean (D,) and the covariance (D, D) of a row of `shared.schema.POSTERIORS`."""
    row = table.set_index("who").loc[who]
    mean = np.asarray(row["mean"], float)
    return mean, np.reshape(row["covariance"], (len(mean), len(mean)))


def _off_diagonal(covariance: np.ndarray) -> np.ndarray:
    rest: np.ndarray = covariance - np.diag(np.diag(covariance))
    return rest


def _interval(mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends (D,) of the intervals of 2 standard deviations."""
    reach = 2 * np.sqrt(np.diag(covariance).clip(min=0))
    return mean - reach, mean + reach


def _squares(places: np.ndarray, scale: PanelScale, kind: str) -> str:
    """Return SVG of unit squares at rows and columns (N, 2)."""
    corners = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    outlines = ("L".join(scale.points(*(place + corners).T[::-1])) for place in places)
    shapes = "".join(f"M{outline}z" for outline in outlines)
    return f'<path class="area {kind}" d="{shapes}"/>'
