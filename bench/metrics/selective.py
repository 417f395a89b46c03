"""Selective prediction: the quality of a classifier on the points that it is most certain about.

If the uncertainty is informative, quality rises as fewer points are retained (VIFA paper, section 4.3).
"""

import numpy as np
import pyarrow as pa
from torch import Tensor

from lockstep_bench.bench.metrics.classification import labels_of
from lockstep_bench.bench.metrics.pooling import Pooled
from lockstep_bench.shared.schema import RETAINED_PERCENT, SELECTIVE, UNCERTAINTIES

RETAINED = (1.0, *(percent / 100 for percent in RETAINED_PERCENT))  # fractions of the points


def selective(pooled: Pooled, y: Tensor) -> pa.Table:
    """Return accuracy, F1 and AUROC on the most certain points, as a table of `shared.schema.SELECTIVE`.

    The table has a row for each fraction of `RETAINED` and each measure of `UNCERTAINTIES`.

    Args:
        pooled: pooled predictive at n points.
        y: (n,), class numbers.
    """
    labels, probabilities = labels_of(pooled, y), pooled.probabilities.numpy()
    predicted, binary = probabilities.argmax(1), probabilities.shape[1] == 2
    rows = []
    for uncertainty in UNCERTAINTIES:
        for retained in RETAINED:
            n = max(1, round(retained * len(labels)))
            weights = most_certain(getattr(pooled, uncertainty).numpy(), n)
            f1 = f1_scores(labels, predicted, weights, probabilities.shape[1])
            rows.append(
                {
                    "uncertainty": uncertainty,
                    "retained": retained,
                    "n": n,
                    "accuracy": weights @ (predicted == labels) / n,
                    "f1": _or_none(f1[1] if binary else np.nanmean(f1)),
                    "auroc": _auroc(labels, probabilities[:, 1], weights) if binary else None,
                }
            )
    return pa.Table.from_pylist(rows, schema=SELECTIVE)


def columns(table: pa.Table) -> dict[str, float]:
    """Return those columns of `shared.schema.SELECTED` that are defined, from a table of `selective`: name -> value."""
    return {
        f"{name}_retain{round(100 * row['retained'])}_{row['uncertainty']}": row[name]
        for row in table.to_pylist()
        for name in ("accuracy", "f1", "auroc")
        if row["retained"] < 1 and row[name] is not None
    }


def most_certain(uncertainty: np.ndarray, n: int) -> np.ndarray:
    """Return weights (N,) of sum n that select the n points of least uncertainty.

    Points below the n-th smallest uncertainty have weight 1, and points above it weight 0. Points equal to it share the
    remaining weight equally. The result does therefore not depend on the order of the points, and a constant
    uncertainty gives equal weights.
    """
    last = np.partition(uncertainty, n - 1)[n - 1]
    below, level = uncertainty < last, uncertainty == last
    weights: np.ndarray = below + level * (n - below.sum()) / level.sum()
    return weights


def f1_scores(labels: np.ndarray, predicted: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return F1 = 2 TP / (2 TP + FP + FN) of each class, (C,), for weighted points; NaN if a class never occurs."""
    n_true, n_predicted = (np.bincount(classes, weights, n_classes) for classes in (labels, predicted))
    both = np.bincount(labels, weights * (labels == predicted), n_classes)
    f1 = np.full(n_classes, np.nan)
    np.divide(2 * both, n_true + n_predicted, out=f1, where=n_true + n_predicted > 0)
    return f1


def _auroc(labels: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    kept = weights > 0
    if len(np.unique(labels[kept])) < 2:
        return None
    return float(roc_auc_score(labels[kept], scores[kept], sample_weight=weights[kept]))


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
