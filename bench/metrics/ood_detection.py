"""Detection of out-of-distribution (OOD) points by a classifier's uncertainty.

OOD points are the positive class and test points the negative class. A high score means that a point looks OOD.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from lockstep_bench.bench.metrics.pooling import Pooled
from lockstep_bench.shared.schema import GROUP_OOD, OOD_SETS

SCORES = {
    "": "one_minus_confidence",
    **{f"_{name}": name for name in ("entropy", "disagreement", "mutual_information")},
}


def evaluate(inside: Pooled, outside: Pooled) -> dict[str, float]:
    """Return the metrics of `shared.schema.OOD` for each of `SCORES`; {} if there are no test or no OOD points."""
    if not len(inside.probabilities) or not len(outside.probabilities):
        return {}
    values = {
        f"ood_{name}{suffix}": value
        for suffix, score in SCORES.items()
        for name, value in detection(getattr(inside, score).numpy(), getattr(outside, score).numpy()).items()
    }
    return values | {"ood_entropy": outside.entropy.mean().item()}


def by_set(inside: Pooled, groups: Mapping[str, Mapping[str, Pooled]]) -> pa.Table:
    """Return the metrics of `evaluate` for each OOD data set, as a table of `shared.schema.OOD_SETS`.

    Args:
        inside: pooled predictive at the test points.
        groups: group ("near" or "far") -> name of an OOD data set -> pooled predictive at its points.
    """
    rows = [
        {"set": name, "group": group, "metric": metric.removeprefix("ood_"), "value": value}
        for group, sets in groups.items()
        for name, outside in sets.items()
        for metric, value in evaluate(inside, outside).items()
    ]
    return pa.Table.from_pylist(rows, schema=OOD_SETS)


def group_means(sets: pa.Table) -> dict[str, float]:
    """Return the means of metrics over the OOD data sets of each group, from a table of `by_set`.

    The names are those of `shared.schema.GROUP_OOD`.
    """
    means = sets.group_by(["group", "metric"]).aggregate([("value", "mean")]).to_pylist()
    values = {f"{mean['group']}_ood_{mean['metric']}": mean["value_mean"] for mean in means}
    return {name: values[name] for name in GROUP_OOD if name in values}


def detection(inside: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    """Return `auroc`, `aupr`, `aupr_in` and `fpr95` for the scores of test points (n,) and OOD points (m,).

    `aupr` is the average precision of detecting OOD points by a high score. `aupr_in` is the average precision of
    detecting test points by a low score. Points of equal score are never separated by a threshold. If all scores are
    equal, the AUROC is 0.5, the average precisions are m / (n + m) and n / (n + m), and FPR95 is 1.
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
    """Return the fraction of test points whose score reaches t, the highest threshold that 95 % of OOD points reach."""
    n_missed = len(outside) * 5 // 100
    threshold = np.sort(outside)[n_missed]
    return float((inside >= threshold).mean())
