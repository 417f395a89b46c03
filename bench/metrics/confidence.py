"""Count-confidence curves: the number of points at which the largest class probability exceeds a threshold.

At out-of-distribution points, whose classes the classifier cannot know, low counts are good (Lakshminarayanan et al.
2017). The DirectUQ paper (appendix E.1) counts the points between two neighbouring thresholds instead, and draws the
count against the mean of these points' largest probabilities.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lockstep_bench.bench.metrics.pooling import Pooled
from lockstep_bench.shared.schema import CONFIDENCE

THRESHOLDS = np.arange(101) / 100


def counts(confidence: np.ndarray, thresholds: np.ndarray = THRESHOLDS) -> np.ndarray:
    """Return how many values of `confidence` (n,), the largest class probabilities, exceed each threshold, (T,)."""
    return len(confidence) - np.searchsorted(np.sort(confidence), thresholds, side="right")


def means_between(confidence: np.ndarray, thresholds: np.ndarray = THRESHOLDS) -> np.ndarray:
    """Return the mean of the `confidence` values (n,) between each threshold and the next, (T,); NaN if there are none.

    The number of these values is the difference of two neighbouring `counts`.
    """
    ordered = np.sort(confidence)
    cuts = np.append(np.searchsorted(ordered, thresholds, side="right"), len(ordered))
    parts = (ordered[low:high] for low, high in pairwise(cuts))
    return np.array([part.mean() if len(part) else np.nan for part in parts])


def group_means(inside: Pooled, groups: Mapping[str, Mapping[str, Pooled]]) -> dict[str, float]:
    """Return the mean confidence at the test points, and for each group of OOD data sets, as a mean over data sets.

    Args:
        inside: pooled predictive at the test points.
        groups: group ("near" or "far") -> name of an OOD data set -> pooled predictive at its points.
    """
    of_groups = {
        f"{group}_ood_confidence": float(np.mean([_confidence(pooled).mean() for pooled in sets.values()]))
        for group, sets in groups.items()
        if sets
    }
    return {"confidence": float(_confidence(inside).mean())} | of_groups


def _confidence(pooled: Pooled) -> np.ndarray:
    return np.asarray(pooled.probabilities.amax(-1))


def curves(inside: Pooled, groups: Mapping[str, Mapping[str, Pooled]]) -> pa.Table:
    """Return `counts` and `means_between` for the test points and each OOD data set, as a table `schema.CONFIDENCE`.

    Args:
        inside: pooled predictive at the test points.
        groups: group ("near" or "far") -> name of an OOD data set -> pooled predictive at its points.
    """
    parts = []
    for group, sets in {"test": {"test": inside}, **groups}.items():
        for name, pooled in sets.items():
            exceeding = counts(_confidence(pooled))
            n_rows = len(exceeding)
            means = means_between(_confidence(pooled))
            columns: dict[str, Any] = {
                "threshold": THRESHOLDS,
                "count": exceeding,
                "n": np.full(n_rows, len(pooled.probabilities)),
                "confidence": pa.array(means, mask=np.isnan(means)),
            }
            columns |= {"group": [group] * n_rows, "set": [name] * n_rows}
            parts.append(pa.table({name: columns[name] for name in CONFIDENCE.names}, schema=CONFIDENCE))
    return pa.concat_tables(parts)
