"""Calibration errors against counts by hand, a plain loop over bins, and theory."""

from itertools import pairwise, product

import numpy as np
import pytest

from lockstep_bench.shared.uncertainty.calibration_error import (
    ece,
    ece_20,
    ece_classwise,
    ece_equal_mass,
    ece_interval,
    reliability,
    squared_debiased,
)

CONFIDENCE = np.array([0.55, 0.65, 0.62, 0.95, 0.91])
CORRECT = np.array([True, False, True, True, False])


def random_points(n: int, seed: int, bias: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Points that are right with probability confidence - bias."""
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0.5, 1, n)
    return confidence, generator.uniform(size=n) < confidence - bias


def plain_ece(confidence, correct, n_bins):
    total = 0.0
    for b in range(n_bins):
        inside = [i for i, c in enumerate(confidence) if b / n_bins < c <= (b + 1) / n_bins]
        if inside:
            total += len(inside) / len(confidence) * abs(correct[inside].mean() - confidence[inside].mean())
    return total


def test_ece_equals_hand_computation():
    """Ten bins: (0.5, 0.6] has 0.55, right; (0.6, 0.7] has mean 0.635, half right; (0.9, 1] mean 0.93, half right."""
    assert ece(CONFIDENCE, CORRECT, 10) == pytest.approx((1 * 0.45 + 2 * 0.135 + 2 * 0.43) / 5)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_ece_equals_a_plain_loop_over_bins(n_bins):
    points = random_points(300, 0, bias=0.1)
    assert ece(*points, n_bins) == pytest.approx(plain_ece(*points, n_bins), rel=1e-12)


def test_confidence_bin_includes_its_upper_edge():
    confidence, correct = np.array([0.5, 0.6, 1.0]), np.array([0, 1, 1])
    assert ece(confidence, correct, 2) == pytest.approx((0.5 + abs(2 - 1.6)) / 3)


def test_equal_mass_ece_equals_hand_computation():
    """Two bins of the five points in order: 0.55, 0.62, 0.65, of which two are right; 0.91, 0.95, of which one is."""
    first, second = abs(2 / 3 - 1.82 / 3), abs(1 / 2 - 1.86 / 2)
    assert ece_equal_mass(CONFIDENCE, CORRECT, 2) == pytest.approx(0.6 * first + 0.4 * second)


def test_equal_mass_bins_differ_by_one_point_at_most():
    confidence, correct = random_points(100, 1, bias=0.1)
    order = np.argsort(confidence)
    edges = [-(-100 * b // 15) for b in range(16)]
    parts = [order[start:end] for start, end in pairwise(edges)]
    assert {len(part) for part in parts} == {6, 7}
    gaps = [abs(correct[part].mean() - confidence[part].mean()) for part in parts]
    assert ece_equal_mass(confidence, correct) == pytest.approx(np.average(gaps, weights=[*map(len, parts)]), rel=1e-12)


def test_ece_20_averages_bins_without_weights():
    """21 points in 20 bins: the bin with two counts as the others do."""
    confidence = np.linspace(0.5, 0.9, 21)
    correct = np.arange(21) % 2 == 0
    bins = [[0, 1], *([i] for i in range(2, 21))]
    gaps = [abs(correct[b].mean() - confidence[b].mean()) for b in bins]
    assert ece_20(confidence, correct) == pytest.approx(np.mean(gaps), rel=1e-12)


def test_fewer_points_than_bins_give_single_point_bins():
    expected = np.abs(CORRECT - CONFIDENCE).mean()
    assert ece_20(CONFIDENCE, CORRECT) == pytest.approx(expected)
    assert ece_equal_mass(CONFIDENCE, CORRECT) == pytest.approx(expected)


def test_tied_confidences_share_their_mean_accuracy():
    """All certain, three of four right: the order in which they fill the bins must not matter."""
    confidence, correct = np.ones(40), np.arange(40) % 4 > 0
    for order in (np.arange(40), np.argsort(correct), np.argsort(~correct)):
        assert ece_equal_mass(confidence, correct[order]) == pytest.approx(0.25)
        assert ece_20(confidence, correct[order]) == pytest.approx(0.25)


@pytest.mark.parametrize("measure", [ece, ece_equal_mass, ece_20])
def test_calibration_errors_estimate_a_constant_bias(measure):
    assert measure(*random_points(200_000, 2)) < 0.01
    assert measure(*random_points(200_000, 3, bias=0.2)) == pytest.approx(0.2, abs=0.01)


def test_ece_interval_equals_the_normal_interval_for_one_bin():
    """All confidences in one bin and far from calibrated: ECE = |mean gap|, a mean of n terms."""
    generator = np.random.default_rng(4)
    confidence, correct = np.full(4000, 0.9), generator.uniform(size=4000) < 0.6
    gaps = confidence - correct
    half = 1.96 * gaps.std() / np.sqrt(4000)
    assert ece_interval(confidence, correct) == pytest.approx((gaps.mean() - half, gaps.mean() + half), abs=0.15 * half)


def test_ece_interval_is_deterministic_and_order_invariant():
    confidence, correct = random_points(200, 5, bias=0.1)
    expected = ece_interval(confidence, correct)
    order = np.random.default_rng(6).permutation(200)
    assert ece_interval(confidence[order], correct[order]) == expected
    assert expected[0] < expected[1]


def test_reliability_bins_equal_hand_computation():
    """Five bins: (0.4, 0.6] has 0.55, right; (0.6, 0.8] has 0.65 and 0.62, half right; (0.8, 1] has 0.95 and 0.91."""
    bins = reliability(CONFIDENCE, CORRECT, 5).to_pydict()
    assert bins["low"] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert bins["high"] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    assert bins["count"] == [0, 0, 1, 2, 2]
    assert bins["confidence"][:2] == bins["accuracy"][:2] == [None, None]
    assert bins["confidence"][2:] == pytest.approx([0.55, 0.635, 0.93])
    assert bins["accuracy"][2:] == [1, 0.5, 0.5]


def test_reliability_diagram_gaps_sum_to_ece():
    points = random_points(300, 7, bias=0.1)
    bins = reliability(*points).to_pandas().dropna()
    gaps = (bins["accuracy"] - bins["confidence"]).abs()
    assert np.average(gaps, weights=bins["count"]) == pytest.approx(ece(*points), rel=1e-12)


def all_outcomes(confidence, correct_with):
    """Yield every vector of `correct`, with its probability where each is true with `correct_with`."""
    for outcome in product([False, True], repeat=len(confidence)):
        yield np.array(outcome), np.where(outcome, correct_with, 1 - correct_with).prod()


def test_debiased_error_is_zero_in_expectation_if_calibrated():
    """The mean over all outcomes, exactly; confidences differ within a bin, and one bin has a single point."""
    confidence = np.array([0.61, 0.63, 0.655, 0.81, 0.85, 0.86, 0.99])
    mean = sum(p * squared_debiased(confidence, correct) for correct, p in all_outcomes(confidence, confidence))
    assert mean == pytest.approx(0, abs=1e-15)
    biased = sum(p * ece(confidence, correct) for correct, p in all_outcomes(confidence, confidence))
    assert biased > 0.15


def test_debiased_error_is_the_squared_bias_in_expectation():
    confidence = np.array([0.61, 0.63, 0.655, 0.81, 0.85, 0.86])
    outcomes = all_outcomes(confidence, confidence - 0.2)
    assert sum(p * squared_debiased(confidence, correct) for correct, p in outcomes) == pytest.approx(0.04)


def test_debiased_error_equals_the_formula_of_kumar():
    """Per bin: (confidence - accuracy)^2 - accuracy (1 - accuracy) / (n - 1), with accuracies of 3/5 and 1/2."""
    confidence = np.repeat([0.7, 0.9], [5, 4])
    correct = np.array([1, 1, 1, 0, 0, 1, 1, 0, 0], bool)
    expected = 5 * (0.1**2 - 0.6 * 0.4 / 4) + 4 * (0.4**2 - 0.5 * 0.5 / 3)
    assert squared_debiased(confidence, correct) == pytest.approx(expected / 9)


def test_debiased_error_needs_two_points_in_a_bin():
    assert np.isnan(squared_debiased(np.array([0.6]), np.array([True])))
    assert np.isnan(squared_debiased(np.array([0.6, 0.9]), np.array([True, False])))
    with pytest.raises(ValueError, match="confidences should be numbers; 1 of 2 are NaN"):
        squared_debiased(np.array([np.nan, 0.9]), np.array([True, False]))


def test_classwise_ece_equals_hand_computation():
    """Two bins. Class 0: 0.2, 0.3 below with one of it, 0.9 above with none. Class 1: 0.1 below, 0.8, 0.7 above."""
    probabilities = np.array([[0.2, 0.8], [0.3, 0.7], [0.9, 0.1]])
    labels = np.array([1, 0, 1])
    class_0 = abs(1 - 0.5) + abs(0 - 0.9)
    class_1 = abs(1 - 0.1) + abs(1 - 1.5)
    assert ece_classwise(probabilities, labels, 2) == pytest.approx((class_0 + class_1) / 2 / 3)


def test_classwise_ece_averages_ece_of_each_class():
    generator = np.random.default_rng(8)
    probabilities, labels = generator.dirichlet(np.ones(4), 300), generator.integers(3, size=300)  # class 3 is absent
    of_classes = [plain_ece(probabilities[:, c], labels == c, 15) for c in range(4)]
    assert ece_classwise(probabilities, labels) == pytest.approx(np.mean(of_classes))
    with pytest.raises(ValueError, match="probabilities should be numbers"):
        ece_classwise(np.full((2, 2), np.nan), np.zeros(2, int))
