"""All metrics of predictions, computed from a `Predictive`.

The metrics score the equally weighted mixture of the predictive's S samples, in float64. `evaluate` returns the metrics
that are stored in a row of results. `tables` returns curves, and values for each OOD data set, which are stored in
separate files. `summaries` reduces these tables to further columns of the row.

Imports allowed here: `datasets.images.shifts` and `shared`.
"""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa
from torch import Tensor

from lockstep_bench.bench.metrics import (
    checks,
    classification,
    confidence,
    joint,
    ood_detection,
    regression,
    selective,
    shifted,
)
from lockstep_bench.bench.metrics.checks import NoDistribution
from lockstep_bench.bench.metrics.flaws import flaw
from lockstep_bench.bench.metrics.pooling import Pooled, pool
from lockstep_bench.methods.maths.predictive import Classes, Predictive
from lockstep_bench.shared.uncertainty.calibration_error import reliability

__all__ = [
    "NoDistribution",
    "diagnostics",
    "evaluate",
    "evaluate_joint",
    "expected_log_density",
    "flaw",
    "log_density",
    "nmll",
    "pool",
    "summaries",
    "tables",
]


def log_density(predictive: Predictive, y: Tensor) -> Tensor:
    """Return the log predictive density log (1/S) sum_s p_s(y) of each test point, (n,), nats.

    Args:
        predictive: S samples of the likelihood's parameters at n points.
        y: (n,), targets in original units, or class numbers.
    """
    if isinstance(predictive, Classes):
        return classification.log_density(predictive, y)
    return regression.log_density(predictive, y)


def expected_log_density(predictive: Predictive, y: Tensor) -> float:
    """Return the mean over points of 1/S sum_s log p_s(y), nats; the arguments are those of `log_density`.

    By Jensen's inequality it is at most the mean of `log_density`.
    """
    if isinstance(predictive, Classes):
        return classification.log_densities(predictive, y).mean().item()
    return regression.log_densities(predictive, y).mean().item()


def nmll(predictive: Predictive, y: Tensor) -> float:
    """Return the negative mean log predictive density over test points, nats, for targets y (n,).

    Tuning minimises this metric, and result pages show it first.
    """
    return -log_density(predictive, y).mean().item()


def evaluate(predictive: Predictive, y: Tensor, y_scale: float, ood: Predictive | None = None) -> dict[str, float]:
    """Return the metrics of `shared.schema.METRICS` that apply to the task.

    Metrics that are undefined on these points are left out, such as the AUROC if all points have the same class.

    Args:
        predictive: the predictive at n test points.
        y: (n,), targets in original units, or class numbers.
        y_scale: standard deviation of the training targets; ignored for classes.
        ood: the predictive at out-of-distribution points. Only classifiers have OOD metrics.

    Returns:
        Metric name -> value.
    """
    y = checks.targets(predictive, y)
    if ood is not None:
        checks.predictive(ood, type(predictive))
    values = {"nmll": nmll(predictive, y)}
    if not isinstance(predictive, Classes):
        return values | regression.evaluate(predictive, y, y_scale)
    pooled = pool(predictive)
    values |= classification.evaluate(pooled, y)
    if isinstance(ood, Classes):
        values |= ood_detection.evaluate(pooled, pool(ood))
    return values


def evaluate_joint(predictive: Predictive, y: Tensor, y_scale: float) -> dict[str, float]:
    """Return those metrics of `shared.schema.JOINT` that n test points allow; the arguments are those of `evaluate`.

    Sample s of the predictive must be one function at all points (`methods.base.Method.joint`).
    """
    return joint.evaluate(predictive, checks.targets(predictive, y), y_scale)


def diagnostics(predictive: Predictive, y: Tensor) -> dict[str, float]:
    """Return scores that are stored as diagnostics, not as columns: for regression `nmll_joint`, {} otherwise.

    Args:
        predictive: the predictive at n test points.
        y: (n,), targets in original units, or class numbers.
    """
    return {} if isinstance(predictive, Classes) else {"nmll_joint": regression.joint_nmll(predictive, y)}


def tables(
    inside: Pooled, y: Tensor, ood: Mapping[str, Mapping[str, Pooled]] = MappingProxyType({})
) -> dict[str, pa.Table]:
    """Return the tables that are stored for a classifier in separate files, by their name in `shared.schema.TABLES`.

    The table of shifted images is not among them; `shifted.table` makes it.

    Args:
        inside: pooled predictive at the n test points.
        y: (n,), class numbers.
        ood: group ("near" or "far") -> name of an OOD data set -> pooled predictive at its points.
    """
    labels, probabilities = classification.labels_of(inside, y), inside.probabilities.numpy()
    correct = probabilities.argmax(1) == labels
    return {
        "reliability": reliability(probabilities.max(1), correct),
        "selective": selective.selective(inside, y),
        "confidence": confidence.curves(inside, ood),
        "ood": ood_detection.by_set(inside, ood),
    }


def summaries(tables: Mapping[str, pa.Table]) -> dict[str, float]:
    """Return the columns of a row of results that are computed from the tables: column name -> value."""
    values: dict[str, float] = {}
    if "selective" in tables:
        values |= selective.columns(tables["selective"])
    if "ood" in tables:
        values |= ood_detection.group_means(tables["ood"])
    if "shifts" in tables:
        values |= shifted.corrupted_means(tables["shifts"])
    return values
