"""Telling OOD points from test points: against counts over all pairs and all thresholds."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.metrics import evaluate
from lockstep_bench.bench.metrics.ood_detection import SCORES, by_set, detection, fpr95, group_means
from lockstep_bench.bench.metrics.pooling import pool
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.shared.schema import GROUP_OOD, OOD, OOD_SCORES


def scores(n: int, m: int, seed: int, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping scores of n test and m OOD points; few decimals make ties."""
    generator = np.random.default_rng(seed)
    return generator.normal(0, 1, n).round(decimals), generator.normal(1, 1, m).round(decimals)


@pytest.fixture(params=[(50, 40, 0, 8), (50, 40, 1, 0), (33, 7, 2, 0), (1, 1, 3, 8), (200, 100, 4, 1)])
def case(request):
    return scores(*request.param)


def plain_aupr(inside: np.ndarray, outside: np.ndarray) -> float:
    """The sum over thresholds, from the highest score down, of precision times what recall gains."""
    area = recall = 0.0
    for threshold in sorted({*inside, *outside}, reverse=True):
        found, taken = (outside >= threshold).sum(), (inside >= threshold).sum()
        area += (found / len(outside) - recall) * found / (found + taken)
        recall = found / len(outside)
    return area


def plain_fpr95(inside: np.ndarray, outside: np.ndarray) -> float:
    """The smallest false positive rate of any threshold that finds at least 95 % of OOD points."""
    thresholds = {*inside, *outside}
    return min((inside >= t).mean() for t in thresholds if 100 * (outside >= t).sum() >= 95 * len(outside))


def test_auroc_counts_tied_pairs_as_half(case):
    inside, outside = case
    pairs = np.sign(outside[:, None] - inside)
    assert detection(inside, outside)["auroc"] == pytest.approx((0.5 + 0.5 * pairs).mean(), rel=1e-12)


def test_aupr_out_treats_ood_as_the_positive_class(case):
    assert detection(*case)["aupr"] == pytest.approx(plain_aupr(*case), rel=1e-12)


def test_aupr_in_treats_test_points_as_positive_class(case):
    """A low score is what tells them: what was inside is outside, and the order is turned round."""
    inside, outside = case
    assert detection(*case)["aupr_in"] == pytest.approx(plain_aupr(-outside, -inside), rel=1e-12)


def test_fpr95_is_lowest_among_thresholds_detecting_95_percent(case):
    assert fpr95(*case) == plain_fpr95(*case)


@pytest.mark.parametrize("m", [1, 19, 20, 21, 40, 60, 100])
def test_fpr95_uses_the_highest_threshold_that_detects_95_percent(m):
    """OOD scores 1..m: the threshold leaves floor(m / 20) of them below."""
    outside = np.arange(1, m + 1)
    assert fpr95(np.array([m // 20 + 1]), outside) == 1
    assert fpr95(np.array([m // 20 + 0.5]), outside) == 0


def test_perfect_and_inverted_scores_have_extreme_auroc():
    low, high = np.arange(10.0), np.arange(10.0) + 20
    assert detection(low, high) == pytest.approx({"auroc": 1, "aupr": 1, "aupr_in": 1, "fpr95": 0})
    assert detection(high, low)["auroc"] == 0
    assert detection(high, low)["fpr95"] == 1


def test_constant_scores_detect_ood_at_chance_level():
    assert detection(np.zeros(30), np.zeros(10)) == {"auroc": 0.5, "aupr": 0.25, "aupr_in": 0.75, "fpr95": 1}


def classes(n_samples: int, n: int, seed: int, sharpness: float) -> Classes:
    generator = torch.Generator().manual_seed(seed)
    return Classes((sharpness * torch.randn(n_samples, n, 5, generator=generator)).log_softmax(-1))


@pytest.mark.parametrize("n_samples", [1, 4])
def test_constant_uncertainty_has_auroc_one_half(n_samples):
    """Copies of one sample: their mean differs from them in the last digit, which must not be taken for a sign."""
    test, ood = (
        Classes(one.log_probs.expand(n_samples, -1, -1)) for one in (classes(1, 90, 0, 3.0), classes(1, 60, 1, 1.0))
    )
    found = evaluate(test, torch.zeros(90), 1.0, ood)
    for score in ("disagreement", "mutual_information"):
        assert [found[f"ood_{name}_{score}"] for name in ("auroc", "aupr", "fpr95")] == [0.5, 60 / 150, 1.0]
    assert found["ood_auroc"] > 0.7
    assert found["ood_auroc_entropy"] > 0.7


def test_ood_metrics_have_their_documented_names():
    test, ood = classes(6, 80, 2, 3.0), classes(6, 50, 3, 1.0)
    found = evaluate(test, torch.zeros(80), 1.0, ood)
    samples = [one.log_probs.double().exp() for one in (test, ood)]
    entropy = [-(p.mean(0) * p.mean(0).log()).sum(-1) for p in samples]
    expected_entropy = [-(p * p.log()).sum(-1).mean(0) for p in samples]
    by_hand = {
        "": [1 - p.mean(0).amax(-1) for p in samples],
        "_entropy": entropy,
        "_disagreement": [((p - p.mean(0)) ** 2).mean(0).sum(-1) for p in samples],
        "_mutual_information": [h - e for h, e in zip(entropy, expected_entropy, strict=True)],
    }
    for suffix, (inside, outside) in by_hand.items():
        for name, value in detection(inside.numpy(), outside.numpy()).items():
            assert found[f"ood_{name}{suffix}"] == pytest.approx(value, rel=1e-12)


def test_result_schema_describes_every_ood_metric():
    assert OOD_SCORES.keys() == SCORES.keys()
    assert set(SCORES.values()) < set(pool(classes(1, 1, 0, 1.0))._fields)


def test_ood_entropy_is_mean_predictive_entropy():
    test, ood = classes(6, 80, 2, 3.0), classes(6, 50, 3, 1.0)
    p = ood.log_probs.double().exp().mean(0)
    expected = -(p * p.log()).sum(-1).mean()
    assert evaluate(test, torch.zeros(80), 1.0, ood)["ood_entropy"] == pytest.approx(expected.item(), rel=1e-6)


@pytest.fixture
def sets():
    """Test points, and two near and one far OOD set."""
    near = {name: pool(classes(4, 50, seed, 2.0)) for seed, name in enumerate(("letters", "clothes"))}
    return pool(classes(4, 80, 7, 3.0)), {"near": near, "far": {"noise": pool(classes(4, 30, 8, 0.5))}}


def test_every_ood_set_has_each_metric(sets):
    inside, groups = sets
    table = by_set(inside, groups).to_pandas()
    for group, members in groups.items():
        for name, outside in members.items():
            rows = table[(table["group"] == group) & (table["set"] == name)].set_index("metric")["value"]
            assert {f"ood_{metric}" for metric in rows.index} == set(OOD)
            alone = detection(inside.entropy.numpy(), outside.entropy.numpy())
            assert {metric: rows[f"{metric}_entropy"] for metric in alone} == alone


def test_ood_columns_average_over_sets_of_a_group(sets):
    inside, groups = sets
    found = group_means(by_set(inside, groups))
    assert list(found) == list(GROUP_OOD)
    alone = {
        name: detection(inside.one_minus_confidence.numpy(), one.one_minus_confidence.numpy())
        for name, one in groups["near"].items()
    }
    mean = (alone["letters"]["auroc"] + alone["clothes"]["auroc"]) / 2
    assert found["near_ood_auroc"] == pytest.approx(mean, rel=1e-12)
    assert found["far_ood_entropy"] == pytest.approx(groups["far"]["noise"].entropy.mean().item(), rel=1e-12)


def test_ood_group_without_sets_has_no_columns(sets):
    inside, groups = sets
    assert all(name.startswith("near_") for name in group_means(by_set(inside, {"near": groups["near"]})))
    assert group_means(by_set(inside, {})) == {}
