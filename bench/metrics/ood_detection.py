"""Can a classifier tell points from outside the distribution (OOD) by how unsure it is?

OOD points are the positive class, test points the negative one, and the higher the score, the more a point looks OOD.
"""

import numpy as np

from bench.metrics.pooling import Pooled

SCORES = {"": "doubt", **{f"_{name}": name for name in ("entropy", "disagreement", "mutual_information")}}


def evaluate(inside: Pooled, outside: Pooled) -> dict[str, float]:
    """`bench.schema.OOD`: how well each of `SCORES` tells `outside` from `inside`; nothing if either has no points."""
    if not len(inside.doubt) or not len(outside.doubt):
        return {}
    return {
        f"ood_{name}{suffix}": value
        for suffix, score in SCORES.items()
        for name, value in detection(getattr(inside, score).numpy(), getattr(outside, score).numpy()).items()
    }


def detection(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    """`auroc`, `aupr` (average precision) and `fpr95` of the scores of test points (n,) and OOD points (m,).

    Points of equal score lie on the same side of every threshold: scores that are all the same have AUROC 0.5, average
    precision m / (n + m) and FPR95 1.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    is_outside = np.repeat([False, True], [len(inside), len(outside)])
    scores = np.concatenate([inside, outside])
    return {
        "auroc": float(roc_auc_score(is_outside, scores)),
        "aupr": float(average_precision_score(is_outside, scores)),
        "fpr95": fpr95(inside, outside),
    }


def fpr95(inside: np.ndarray, outside: np.ndarray) -> float:
    """The fraction of test points with scores of at least t, the highest threshold that 95 % of OOD points reach."""
    n_missed = len(outside) * 5 // 100
    threshold = np.sort(outside)[n_missed]
    return float((inside >= threshold).mean())
