"""Count-confidence curves: at how many points is a classifier surer of some class than a threshold?

The surer it is at points from outside the distribution, whose classes it cannot know, the worse (Lakshminarayanan et
al. 2017; the appendix of the DirectUQ paper draws the same counts between thresholds).
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bench.metrics.pooling import Pooled
from bench.schema import CONFIDENCE

THRESHOLDS = np.arange(101) / 100


def counts(confidence: np.ndarray, thresholds: np.ndarray = THRESHOLDS) -> np.ndarray:
    """How many of the largest class probabilities `confidence` (n,) exceed each of the thresholds (T,), (T,)."""
    return len(confidence) - np.searchsorted(np.sort(confidence), thresholds, side="right")


def curves(inside: Pooled, groups: Mapping[str, Mapping[str, Pooled]]) -> pa.Table:
    """`counts` at the test points and of each OOD set, of `bench.schema.CONFIDENCE`; `groups` as in `ood_detection`."""
    parts = []
    for group, sets in {"test": {"test": inside}, **groups}.items():
        for name, pooled in sets.items():
            found = counts(pooled.probabilities.amax(-1).numpy())
            columns = {"threshold": THRESHOLDS, "count": found, "n": np.full(len(found), len(pooled.doubt))}
            columns |= {"group": [group] * len(found), "set": [name] * len(found)}
            parts.append(pa.table({name: columns[name] for name in CONFIDENCE.names}, schema=CONFIDENCE))
    return pa.concat_tables(parts)
