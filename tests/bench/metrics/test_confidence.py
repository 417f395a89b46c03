"""Counts of confident points against counting them."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.metrics.confidence import THRESHOLDS, counts, curves, group_means, means_between
from lockstep_bench.bench.metrics.pooling import pool
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.shared.schema import CONFIDENCE


def test_confidence_must_strictly_exceed_the_threshold():
    confidence = np.array([0.5, 0.9, 0.5, 1.0, 0.7])
    assert counts(confidence, np.array([0.0, 0.5, 0.7, 0.95, 1.0])).tolist() == [5, 3, 2, 1, 0]


def test_confidence_of_no_points_is_undefined():
    assert counts(np.empty(0)).tolist() == [0] * 101


def test_bucket_mean_confidence_equals_the_mean_of_points():
    confidence = np.array([0.5, 0.9, 0.52, 1.0, 0.7, 0.95])
    tenths = np.arange(10) / 10
    means = means_between(confidence, tenths)
    expected = {4: 0.5, 5: 0.52, 6: 0.7, 8: 0.9, 9: 0.975}
    assert {bucket: mean for bucket, mean in enumerate(means) if not np.isnan(mean)} == pytest.approx(expected)
    fine = means_between(confidence)
    n = -np.diff(np.append(counts(confidence), 0))
    assert np.nansum(n * fine) == pytest.approx(confidence.sum())


def sure(*probabilities: float) -> Classes:
    """One sample; two classes of the probabilities p and 1 - p at each point."""
    p = torch.tensor(probabilities, dtype=torch.float64)
    return Classes(torch.stack([p, 1 - p], -1).log()[None])


def test_test_and_ood_sets_each_have_a_curve():
    inside, near, far = sure(0.05, 0.99, 0.6), sure(0.7, 0.2), sure(0.5)
    table = curves(pool(inside), {"near": {"letters": pool(near)}, "far": {"noise": pool(far)}})
    assert table.schema == CONFIDENCE
    found = {name: part.set_index("threshold") for name, part in table.to_pandas().groupby(["group", "set"])}
    assert found.keys() == {("test", "test"), ("near", "letters"), ("far", "noise")}
    assert {len(one) for one in found.values()} == {len(THRESHOLDS)}
    test, letters = found["test", "test"], found["near", "letters"]
    assert test["count"][[0.0, 0.59, 0.61, 0.94, 0.96, 1.0]].tolist() == [3, 3, 2, 2, 1, 0]
    assert letters["count"][[0.0, 0.69, 0.75, 0.85]].tolist() == [2, 2, 1, 0]
    assert (set(test["n"]), set(letters["n"])) == ({3}, {2})
    assert letters["confidence"].dropna().tolist() == pytest.approx([0.7, 0.8])
    means = group_means(pool(inside), {"near": {"letters": pool(near)}, "far": {"noise": pool(far)}})
    assert means == pytest.approx({"confidence": 2.54 / 3, "near_ood_confidence": 0.75, "far_ood_confidence": 0.5})


def test_contradicting_confident_samples_give_low_confidence():
    both = Classes(torch.cat([sure(0.99).log_probs, sure(0.01).log_probs]))
    table = curves(pool(both), {}).to_pandas()
    assert table.loc[table["count"] > 0, "threshold"].max() == pytest.approx(0.49)
