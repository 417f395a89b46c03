"""Every metric of a cell, from one `Predictive`: the front of the files beside this one.

What is scored is the equal mixture of the predictive's S samples. All arithmetic is float64.
"""

from torch import Tensor

from bench.metrics import classification, ood_detection, regression
from bench.metrics.pooling import pool
from methods.predictive import Classes, Predictive

__all__ = ["evaluate", "log_density", "nmll"]


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
