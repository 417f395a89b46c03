"""Audit of a regression data set: copies of training rows among the test rows, constant inputs, and similar facts.

Such facts decide what a test score says about generalisation.
"""

from collections import Counter

import numpy as np

from lockstep_bench.datasets.records import Dataset
from lockstep_bench.datasets.standardise import Standardisation
from lockstep_bench.datasets.tabular.audited import Facts
from lockstep_bench.datasets.tabular.groups import group_numbers


def audit(dataset: Dataset) -> Facts:
    """Return the facts about a regression data set, computed from its arrays."""
    x, y = dataset.x, dataset.y
    kinds = group_numbers(np.column_stack([x, y]))
    inputs = group_numbers(x)
    copies, others = [], []
    for split in dataset.splits:
        copied = _in_train(kinds, split.train)[kinds[split.test]]
        seen = _in_train(inputs, split.train)[inputs[split.test]]
        copies.append(100 * copied.mean())
        others.append(100 * (seen & ~copied).mean())
    columns = Counter(column.tobytes() for column in (x + 0.0).T)
    return Facts(
        dataset=dataset.name,
        data_sha256=dataset.data_sha256,
        rows=len(y),
        inputs=x.shape[1],
        repeated=float(100 * (np.bincount(kinds)[kinds] > 1).mean()),
        copies=float(np.mean(copies)),
        most_copies=float(np.max(copies)),
        other_target=float(np.mean(others)),
        targets=len(np.unique(y)),
        constant=int((np.ptp(x, axis=0) == 0).sum()),
        equal=sum(n * (n - 1) // 2 for n in columns.values()),
        linear_r2=linear_r2(x, y),
        target_sd=float(y.std()),
    )


def linear_r2(x: np.ndarray, y: np.ndarray) -> float:
    """Return R^2 of a linear regression with intercept, on the rows that it is fitted to.

    Args:
        x: inputs (N, P); equal and constant columns are allowed.
        y: targets (N,).
    """
    everything = np.arange(len(y))
    mean, scale = Standardisation.of(x, everything)
    z, centred = (x - mean) / scale, y - y.mean()
    weights = np.linalg.lstsq(z, centred, rcond=None)[0]
    return float(1 - np.mean((centred - z @ weights) ** 2) / np.mean(centred**2))


def _in_train(kinds: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return for each group of equal rows whether it contains a training row."""
    present = np.zeros(kinds.max() + 1, bool)
    present[kinds[train]] = True
    return present
