"""Metrics of classification against scikit-learn, scipy and counts by hand."""

import math

import numpy as np
import pytest
import sklearn.metrics
import torch
from scipy.stats import entropy

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import pooling
from lockstep_bench.bench.metrics.pooling import pool
from lockstep_bench.methods.maths.predictive import Classes

CASES = [(1, 30, 2, 0), (4, 30, 2, 1), (1, 30, 5, 2), (7, 40, 5, 3)]  # S, n, C, seed


def random_case(n_samples: int, n_points: int, n_classes: int, seed: int) -> tuple[Classes, torch.Tensor]:
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(n_classes, 0.5), (n_samples, n_points))
    return Classes(torch.tensor(np.log(probabilities))), torch.tensor(generator.integers(n_classes, size=n_points))


@pytest.fixture(params=CASES, ids=lambda case: "S={},n={},C={}".format(*case))
def case(request):
    return random_case(*request.param)


@pytest.fixture
def found(case):
    return metrics.evaluate(*case, y_scale=1.0)


@pytest.fixture
def mean(case) -> np.ndarray:
    """The mean probabilities, (n, C)."""
    return np.exp(case[0].log_probs.numpy()).mean(0)


def test_nmll_is_the_log_loss_of_the_mean_probabilities(case, found, mean):
    expected = sklearn.metrics.log_loss(case[1], mean, labels=range(mean.shape[1]))
    assert found["nmll"] == pytest.approx(expected, rel=1e-12)


def test_nmll_is_exact_where_probabilities_underflow():
    """The NMLL of log probabilities -1000 and -1001 is -log((e^-1000 + e^-1001) / 2)."""
    predictive = Classes(torch.tensor([[[0.0, -1000.0]], [[0.0, -1001.0]]]))
    expected = 1000 - math.log1p(math.exp(-1)) + math.log(2)
    assert metrics.nmll(predictive, torch.tensor([1.0])) == pytest.approx(expected, rel=1e-14)


def test_accuracy_is_the_fraction_of_correct_classes(case, found, mean):
    assert found["accuracy"] == sklearn.metrics.accuracy_score(case[1], mean.argmax(1))


def test_brier_score_sums_over_all_classes(case, found, mean):
    total = sum(
        (p - (c == label)) ** 2
        for row, label in zip(mean.tolist(), case[1].tolist(), strict=True)
        for c, p in enumerate(row)
    )
    assert found["brier"] == pytest.approx(total / len(mean), rel=1e-12)


def test_binary_brier_score_is_twice_the_one_class_score():
    predictive, y = random_case(3, 50, 2, 5)
    ours = metrics.evaluate(predictive, y, 1.0)["brier"]
    one = sklearn.metrics.brier_score_loss(y, predictive.log_probs.exp().mean(0)[:, 1])
    assert ours == pytest.approx(2 * one, rel=1e-12)


def test_precision_and_recall_equal_hand_counts():
    # Taken for class 1: the points 0, 1, 2, of which 0 and 1 are of it; 3 is missed.
    class_1 = torch.tensor([[0.9, 0.8, 0.7, 0.2, 0.1]])
    predictive = Classes(torch.stack([1 - class_1, class_1], -1).log())
    found = metrics.evaluate(predictive, torch.tensor([1.0, 1, 0, 1, 0]), 1.0)
    assert (found["precision"], found["recall"], found["f1"]) == pytest.approx((2 / 3, 2 / 3, 2 / 3), rel=1e-12)


def test_precision_and_recall_are_zero_without_predicted_positives():
    never = Classes(torch.tensor([[[0.9, 0.1], [0.8, 0.2]]]).log())
    found = metrics.evaluate(never, torch.tensor([1.0, 0]), 1.0)
    assert (found["precision"], found["recall"], found["f1"]) == (0.0, 0.0, 0.0)


def test_auroc_is_probability_of_ranking_positive_above_negative():
    predictive, y = random_case(3, 50, 2, 6)
    score = predictive.log_probs.exp().mean(0)[:, 1]
    pairs = (score[y == 1][:, None] - score[y == 0]).sign()
    expected = (0.5 + 0.5 * pairs).mean().item()
    assert metrics.evaluate(predictive, y, 1.0)["auroc"] == pytest.approx(expected, rel=1e-12)


def test_entropy_and_mutual_information_equal_scipy(case, found, mean):
    samples = np.exp(case[0].log_probs.numpy())
    total, expected = entropy(mean, axis=-1), entropy(samples, axis=-1).mean(0)
    assert found["entropy"] == pytest.approx(total.mean(), rel=1e-12)
    assert found["mutual_information"] == pytest.approx((total - expected).mean(), rel=1e-9, abs=1e-12)


def test_disagreement_is_equation_60_of_the_vifa_paper(case, found, mean):
    samples = np.exp(case[0].log_probs.numpy())
    expected = sum(((sample - mean) ** 2).sum(1) for sample in samples) / len(samples)
    assert found["disagreement"] == pytest.approx(expected.mean(), rel=1e-9, abs=1e-12)


def test_contradicting_certain_samples_have_maximal_mutual_information():
    """p = (1/2, 1/2): entropy log 2, all of it mutual information; disagreement 2 (1/2)^2."""
    sure = torch.tensor([[0.0, -math.inf]])
    pooled = pool(Classes(torch.stack([sure, sure.flip(-1)])))
    assert pooled.entropy.item() == pooled.mutual_information.item() == pytest.approx(math.log(2))
    assert pooled.disagreement.item() == pooled.one_minus_confidence.item() == 0.5


def test_disagreement_of_confident_samples_does_not_underflow():
    # Two samples of binary probabilities d and 3 d: both classes are d from their means, so 2 d^2.
    d = 1e-9
    log_probs = torch.tensor([[[math.log1p(-each), math.log(each)]] for each in (d, 3 * d)], dtype=torch.float64)
    assert pool(Classes(log_probs)).disagreement.item() == pytest.approx(2 * d**2, rel=1e-6)


@pytest.mark.parametrize("n_samples", [1, 3, 10, 1000])
def test_equal_samples_have_zero_disagreement(n_samples):
    one, _ = random_case(1, 200, 6, 7)
    pooled = pool(Classes(one.log_probs.expand(n_samples, -1, -1)))
    assert not pooled.mutual_information.any()
    assert not pooled.disagreement.any()


def test_one_minus_confidence_is_accurate_in_float32():
    values = [1e-6, 1e-9, 1e-20]
    logits = torch.tensor([[[0.0, math.log(d)] for d in values]], dtype=torch.float32)
    pooled = pool(Classes(logits.log_softmax(-1)))
    assert pooled.one_minus_confidence.tolist() == pytest.approx([d / (1 + d) for d in values], rel=1e-5)
    assert pooled.entropy.tolist() == pytest.approx([d * (1 - math.log(d)) for d in values], rel=1e-5)


def test_chunked_pooling_of_samples_equals_unchunked(monkeypatch):
    predictive, _ = random_case(4, 50, 3, 8)
    at_once = pool(predictive)
    monkeypatch.setattr(pooling, "CHUNK", 4 * 3 * 7)
    for part, whole in zip(pool(predictive), at_once, strict=True):
        torch.testing.assert_close(part, whole, rtol=0, atol=0)


def test_metrics_are_invariant_to_sample_and_point_order(case):
    predictive, y = case
    other = random_case(3, 20, predictive.log_probs.shape[-1], 9)[0]
    shuffled, other_shuffled = (Classes(p.log_probs.roll((2, 3), (0, 1))) for p in (predictive, other))
    expected = metrics.evaluate(predictive, y, 1.0, other)
    assert metrics.evaluate(shuffled, y.roll(3), 1.0, other_shuffled) == pytest.approx(expected, rel=1e-10)
