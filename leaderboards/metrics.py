"""How each metric is called on a page, and which of its values are good."""

import re
from typing import NamedTuple

import numpy as np

from bench import schema


class Metric(NamedTuple):
    """A column of the result schema, for people.

    Attributes:
        title: heading of its column.
        goal: "low" or "high" where that is better, a number where being near it is, None where there is no better.
        meaning: one line.
    """

    title: str
    goal: str | float | None
    meaning: str = ""


TITLES = {
    "nmll": "NMLL",
    "nmll_moment": "NMLL, moment-matched",
    "nmll_standardised": "NMLL, standardised",
    "nmll_moment_standardised": "NMLL, moment-matched, standardised",
    "rmse": "RMSE",
    "rmse_standardised": "RMSE, standardised",
    "crps": "CRPS",
    "ece": "ECE",
    "accuracy": "Accuracy",
    "ood_auroc": "OOD AUROC",
    "tune_seconds": "Tuning, s",
    "fit_seconds": "Final fit, s",
    "predict_seconds_per_1000": "Predict 1000, s",
    "n_weights": "Weights",
    "n_parameters": "Posterior numbers",
    "peak_memory_mib": "Peak memory, MiB",
}

GOALS = (
    (r"nmll.*|rmse.*|crps|ece|.*_seconds(_.*)?|peak_memory_mib", "low"),
    (r"accuracy|ood_auroc", "high"),
)

MEASURED = tuple(schema.METRICS) + tuple(schema.COSTS)  # in the order of pages and exports
HEADLINE = ("nmll", "rmse", "crps", "coverage_90", "tune_seconds", "fit_seconds")


def metric(name: str) -> Metric:
    """What is known about the column `name`."""
    meaning = (schema.METRICS | schema.COSTS).get(name, "")
    if coverage := re.fullmatch(r"coverage_(\d+)", name):
        return Metric(f"Coverage {coverage[1]} %", int(coverage[1]) / 100, meaning)
    goal = next((goal for pattern, goal in GOALS if re.fullmatch(pattern, name)), None)
    return Metric(TITLES.get(name, name), goal, meaning)


def loss(values: np.ndarray, goal: str | float) -> np.ndarray:
    """`values` (N,) of one method, turned so that the smallest mean is the best.

    For a nominal value c the loss is s (v - c) with s the sign of mean(v) - c, so that the mean loss is the
    distance |mean(v) - c| that a reader of the table sees.
    """
    if goal == "low":
        return values
    if goal == "high":
        return -values
    deviations = values - goal
    return deviations if deviations.mean() >= 0 else -deviations
