"""Selective prediction against scikit-learn on the points kept, and by hand where points are on a par."""

import numpy as np
import pytest
import sklearn.metrics
import torch

from lockstep_bench.bench.metrics.pooling import Pooled, pool
from lockstep_bench.bench.metrics.selective import RETAINED, f1_scores, most_certain, selective
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.shared.schema import SELECTIVE


def random_case(n: int, n_classes: int, seed: int) -> tuple[Classes, torch.Tensor]:
    """Labels drawn from the probabilities: what is uncertain is often wrong."""
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(n_classes, 0.4), (3, n))
    mean = probabilities.mean(0)
    labels = [generator.choice(n_classes, p=p / p.sum()) for p in mean]
    return Classes(torch.tensor(np.log(probabilities))), torch.tensor(labels)


@pytest.fixture(params=[(200, 2, 0), (200, 5, 1), (40, 2, 2)], ids=lambda case: "n={}, C={}".format(*case))
def case(request):
    return random_case(*request.param)


def test_selective_metrics_equal_sklearn_on_retained_points(case):
    predictive, y = case
    pooled, labels = pool(predictive), y.numpy()
    probabilities = pooled.probabilities.numpy()
    binary = probabilities.shape[1] == 2
    table = selective(pooled, y)
    assert table.schema == SELECTIVE
    for row in table.to_pylist():
        n = round(row["retained"] * len(labels))
        kept = np.argsort(getattr(pooled, row["uncertainty"]).numpy())[:n]
        true, found = labels[kept], probabilities[kept].argmax(1)
        assert row["n"] == n
        assert row["accuracy"] == pytest.approx(sklearn.metrics.accuracy_score(true, found), rel=1e-12)
        expected = sklearn.metrics.f1_score(true, found, average="binary" if binary else "macro")
        assert row["f1"] == pytest.approx(expected, rel=1e-12)
        if binary:
            expected = sklearn.metrics.roc_auc_score(true, probabilities[kept, 1])
            assert row["auroc"] == pytest.approx(expected, rel=1e-12)
        else:
            assert row["auroc"] is None
    assert table["retained"].to_pylist() == 2 * [*RETAINED]


def test_points_of_tied_uncertainty_are_retained_fractionally():
    assert most_certain(np.array([3.0, 1.0, 2.0, 2.0, 2.0]), 2).tolist() == pytest.approx([0, 1, 1 / 3, 1 / 3, 1 / 3])
    assert most_certain(np.array([3.0, 1.0, 2.0]), 2).tolist() == [0, 1, 1]
    assert most_certain(np.zeros(4), 3).tolist() == [0.75] * 4


def test_constant_uncertainty_selects_all_points_equally():
    """One sample disagrees with itself nowhere: all fractions have the quality of all points."""
    predictive, y = random_case(100, 2, 3)
    table = selective(pool(Classes(predictive.log_probs[:1])), y).to_pandas()
    flat = table[table["uncertainty"] == "disagreement"]
    for name in ("accuracy", "f1", "auroc"):
        assert flat[name].to_numpy() == pytest.approx(flat[name].iloc[0], rel=1e-12)
    rising = table[table["uncertainty"] == "entropy"]
    assert rising["accuracy"].iloc[-1] > rising["accuracy"].iloc[0]


def test_selective_metrics_do_not_depend_on_point_order():
    predictive, y = random_case(60, 3, 4)
    pooled = pool(predictive)
    pooled = pooled._replace(entropy=pooled.entropy.round(decimals=1))
    turned = Pooled(*(part.flip(0) for part in pooled))
    one, other = selective(pooled, y).to_pydict(), selective(turned, y.flip(0)).to_pydict()
    for name in ("accuracy", "f1"):
        assert one[name] == pytest.approx(other[name], rel=1e-12)


def test_f1_score_equals_hand_computation():
    """Class 0: two right, one more predicted. Class 1: one right, one missed. Class 2 never occurs."""
    labels, predicted = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    np.testing.assert_allclose(f1_scores(labels, predicted, np.ones(4), 3), [4 / 5, 2 / 3, np.nan])
    weights = np.array([1, 1, 0.5, 1])  # the mistake counts half: 2 * 2 / (4 + 0.5), 2 * 1 / (2 + 0.5)
    np.testing.assert_allclose(f1_scores(labels, predicted, weights, 3), [4 / 4.5, 2 / 2.5, np.nan])


def test_undefined_metrics_on_retained_points_are_null():
    """Every kept point is of class 0 and taken for it."""
    certain = Classes(torch.tensor([[[0.9, 0.1], [0.8, 0.2], [0.55, 0.45], [0.5, 0.5]]]).log())
    half = selective(pool(certain), torch.tensor([0, 0, 1, 1])).to_pylist()[5]
    assert half == {"uncertainty": "entropy", "retained": 0.5, "n": 2, "accuracy": 1.0, "f1": None, "auroc": None}
