"""Every metric of a cell, from one `Predictive`: the front of the files beside this one.

Imports `bench.shifts` and `bench.schema`.

What is scored is the equal mixture of the predictive's S samples. All arithmetic is float64. Numbers go into the cell's
row (`evaluate`); what is a curve, or one number for each of many sets, is a table beside it (`tables`), of which
`summaries` gives the columns of the row.
"""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa
from torch import Tensor

from bench.metrics import calibration, classification, confidence, ood_detection, regression, selective, shifted
from bench.metrics.pooling import Pooled, pool
from methods.maths.predictive import Classes, Predictive

__all__ = ["evaluate", "log_density", "nmll", "pool", "summaries", "tables"]


def log_density(predictive: Predictive, y: Tensor) -> Tensor:
    """log (1/S) sum_s p_s(y) at each of the n points, (n,), nats; a probability where y is a class number."""
    family = classification if isinstance(predictive, Classes) else regression
    return family.log_density(predictive, y)


def nmll(predictive: Predictive, y: Tensor) -> float:
    """The mean over points of -log p(y), nats: the benchmark's headline and the tuner's objective."""
    return -log_density(predictive, y).mean().item()


def evaluate(predictive: Predictive, y: Tensor, y_scale: float, ood: Predictive | None = None) -> dict[str, float]:
    """The metrics of `bench.schema.METRICS` that apply; one that is undefined (AUROC of one class) is left out.

    Args:
        predictive: at the n test points.
        y: (n,) targets in original units, or class numbers.
        y_scale: of the train part's targets; without a meaning for classes.
        ood: at points from outside the distribution. Told from the test points by classifiers only: for regression
            there is no metric of it.
    """
    found = {"nmll": nmll(predictive, y)}
    if not isinstance(predictive, Classes):
        return found | regression.evaluate(predictive, y, y_scale)
    pooled = pool(predictive)
    found |= classification.evaluate(pooled, y)
    if ood is not None:
        found |= ood_detection.evaluate(pooled, pool(ood))
    return found


def tables(
    inside: Pooled, y: Tensor, ood: Mapping[str, Mapping[str, Pooled]] = MappingProxyType({})
) -> dict[str, pa.Table]:
    """What a classifier's cell keeps beside its row, by the name in `bench.schema.TABLES`.

    Its predictions on shifted images are judged by `shifted.table`, one shift at a time.

    Args:
        inside: `pool` of the predictive at the n test points.
        y: (n,) class numbers.
        ood: `pool` of the predictive at the points of each OOD set, by the set's group ("near" or "far") and name.
    """
    probabilities = inside.probabilities.numpy()
    correct = probabilities.argmax(1) == y.long().numpy()
    return {
        "reliability": calibration.reliability(probabilities.max(1), correct),
        "selective": selective.selective(inside, y),
        "confidence": confidence.curves(inside, ood),
        "ood": ood_detection.by_set(inside, ood),
    }


def summaries(tables: Mapping[str, pa.Table]) -> dict[str, float]:
    """The columns of the cell's row that its tables hold, or rows of theirs have as their mean."""
    found = {}
    if "selective" in tables:
        found |= selective.columns(tables["selective"])
    if "ood" in tables:
        found |= ood_detection.group_means(tables["ood"])
    if "shifts" in tables:
        found |= shifted.corrupted_means(tables["shifts"])
    return found
