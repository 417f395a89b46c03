"""Count-confidence curves: the number of points at which the largest class probability exceeds a threshold.

Low counts are good at out-of-distribution points, whose classes the classifier cannot know (Lakshminarayanan et al.
2017). The appendix of the DirectUQ paper draws the same counts between thresholds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bench.metrics.pooling import Pooled
from bench.schema import CONFIDENCE

THRESHOLDS = np.arange(101) / 100


def counts(confidence: np.ndarray, thresholds: np.ndarray = THRESHOLDS) -> np.ndarray:
    """Return how many of `confidence` (n,), the largest class probabilities, exceed each threshold, (T,)."""
    return len(confidence) - np.searchsorted(np.sort(confidence), thresholds, side="right")


def curves(inside: Pooled, groups: Mapping[str, Mapping[str, Pooled]]) -> pa.Table:
    """Return `counts` at the test points and at each OOD set, as a table of `bench.schema.CONFIDENCE`.

    Args:
        inside: pooled predictive at the test points.
        groups: group ("near" or "far") -> name of an OOD set -> pooled predictive at its points.
    """
    parts = []
    for group, sets in {"test": {"test": inside}, **groups}.items():
        for name, pooled in sets.items():
            exceeding = counts(pooled.probabilities.amax(-1).numpy())
            n_rows = len(exceeding)
            columns: dict[str, Any] = {
                "threshold": THRESHOLDS,
                "count": exceeding,
                "n": np.full(n_rows, len(pooled.probabilities)),
            }
            columns |= {"group": [group] * n_rows, "set": [name] * n_rows}
            parts.append(pa.table({name: columns[name] for name in CONFIDENCE.names}, schema=CONFIDENCE))
    return pa.concat_tables(parts)
