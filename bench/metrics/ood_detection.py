"""Can a classifier tell points from outside the distribution (OOD) by how unsure it is?

OOD points are the positive class, test points the negative one, and the higher the score, the more a point looks OOD.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bench.metrics.pooling import Pooled
from bench.schema import GROUP_OOD, OOD_GROUPS, OOD_SETS

SCORES = {"": "doubt", **{f"_{name}": name for name in ("entropy", "disagreement", "mutual_information")}}


def evaluate(inside: Pooled, outside: Pooled) -> dict[str, float]:
    """`bench.schema.OOD`: how well each of `SCORES` tells `outside` from `inside`; nothing if either has no points."""
    if not len(inside.doubt) or not len(outside.doubt):
        return {}
    found = {
        f"ood_{name}{suffix}": value
        for suffix, score in SCORES.items()
        for name, value in detection(getattr(inside, score).numpy(), getattr(outside, score).numpy()).items()
    }
    return found | {"ood_entropy": outside.entropy.mean().item()}


def by_set(inside: Pooled, groups: Mapping[str, Mapping[str, Pooled]]) -> pa.Table:
    """`evaluate` of each OOD set, of `bench.schema.OOD_SETS`.

    Args:
        groups: by one of `OOD_GROUPS`, then by the name of a set, the predictive at its points.
    """
    if unknown := groups.keys() - set(OOD_GROUPS):
        raise ValueError(f"OOD groups should be among {', '.join(OOD_GROUPS)}, got {', '.join(sorted(unknown))}")
    rows = [
        {"set": name, "group": group, "metric": metric.removeprefix("ood_"), "value": value}
        for group, sets in groups.items()
        for name, outside in sets.items()
        for metric, value in evaluate(inside, outside).items()
    ]
    return pa.Table.from_pylist(rows, schema=OOD_SETS)


def group_means(sets: pa.Table) -> dict[str, float]:
    """`bench.schema.GROUP_OOD` of those groups that have a set, from the table of `by_set`."""
    means = sets.group_by(["group", "metric"]).aggregate([("value", "mean")]).to_pylist()
    found = {f"{mean['group']}_ood_{mean['metric']}": mean["value_mean"] for mean in means}
    return {name: found[name] for name in GROUP_OOD if name in found}


def detection(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    """`auroc`, `aupr`, `aupr_in` and `fpr95` of the scores of test points (n,) and OOD points (m,).

    `aupr` is the average precision of finding OOD points by a high score, `aupr_in` that of finding test points by a
    low one. Points of equal score lie on the same side of every threshold: scores that are all the same have AUROC 0.5,
    average precisions m / (n + m) and n / (n + m), and FPR95 1.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    is_outside = np.repeat([False, True], [len(inside), len(outside)])
    scores = np.concatenate([inside, outside])
    return {
        "auroc": float(roc_auc_score(is_outside, scores)),
        "aupr": float(average_precision_score(is_outside, scores)),
        "aupr_in": float(average_precision_score(~is_outside, -scores)),
        "fpr95": fpr95(inside, outside),
    }


def fpr95(inside: np.ndarray, outside: np.ndarray) -> float:
    """The fraction of test points with scores of at least t, the highest threshold that 95 % of OOD points reach."""
    n_missed = len(outside) * 5 // 100
    threshold = np.sort(outside)[n_missed]
    return float((inside >= threshold).mean())
