"""Calibration errors of calibrated predictions, against sums over all outcomes."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.shared.uncertainty import calibration_error
from lockstep_bench.shared.uncertainty.calibrated_errors import DRAWS, calibrated_errors


def outcomes(probabilities: np.ndarray):
    """Yield every vector of labels, with its probability."""
    n, n_classes = probabilities.shape
    for labels in product(range(n_classes), repeat=n):
        yield np.array(labels), probabilities[np.arange(n), labels].prod()


def test_expected_ece_equals_enumeration_of_all_outcomes():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    probabilities[1] = probabilities[0]  # points of equal confidence
    confidence, predicted = probabilities.max(1), probabilities.argmax(1)
    measures = {"ece": calibration_error.ece, "ece_equal_mass": calibration_error.ece_equal_mass}
    measures["ece_20"] = calibration_error.ece_20
    values = {name: [] for name in (*measures, "ece_classwise")}
    weights = []
    for labels, weight in outcomes(probabilities):
        weights.append(weight)
        values["ece_classwise"].append(calibration_error.ece_classwise(probabilities, labels))
        for name, measure in measures.items():
            values[name].append(measure(confidence, labels == predicted))
    drawn = calibrated_errors(probabilities)
    assert sum(weights) == pytest.approx(1)
    for name, of_outcomes in values.items():
        mean = np.average(of_outcomes, weights=weights)
        sd = np.sqrt(np.average((np.array(of_outcomes) - mean) ** 2, weights=weights))
        assert drawn[f"{name}_null"] == pytest.approx(mean, abs=4 * sd / np.sqrt(DRAWS))


def test_one_bin_expectation_is_binomial_mean_deviation():
    """With equal confidences, n ECE = |X - np| of a binomial X."""
    count = np.arange(401)
    deviation = np.abs(count - 280)
    expected = stats.binom.pmf(count, 400, 0.7) @ deviation / 400
    drawn = calibrated_errors(np.tile([0.7, 0.3], (400, 1)))
    sd = stats.binom.std(400, 0.7) / 400
    assert drawn["ece_null"] == pytest.approx(expected, abs=4 * sd / np.sqrt(DRAWS))
    assert drawn["ece_null_95"] == pytest.approx(1.96 * sd, rel=0.1)


def test_ece_of_calibrated_labels_averages_its_expectation():
    generator = np.random.default_rng(1)
    errors = []
    for _ in range(25):
        probabilities = generator.dirichlet(np.ones(4), 50)
        labels = (probabilities.cumsum(1) < generator.uniform(size=(50, 1))).sum(1)
        observed = calibration_error.ece(probabilities.max(1), probabilities.argmax(1) == labels)
        errors.append((observed, calibrated_errors(probabilities)["ece_null"]))
    excess = np.subtract(*np.transpose(errors))
    assert excess.mean() == pytest.approx(0, abs=3 * stats.sem(excess))


def test_expected_errors_do_not_depend_on_point_order():
    probabilities = np.random.default_rng(2).dirichlet(np.ones(3), 50)
    assert calibrated_errors(probabilities[::-1]) == calibrated_errors(probabilities)


def test_certain_predictions_have_zero_calibration_error():
    assert set(calibrated_errors(np.eye(3)).values()) == {0.0}


def test_expected_error_of_a_single_point_is_exact():
    """The point is right with an error of 0.2, or wrong with one of 0.8: 0.8 x 0.2 + 0.2 x 0.8."""
    drawn = calibrated_errors(np.array([[0.8, 0.2]]))
    assert drawn["ece_null"] == pytest.approx(0.32, abs=0.05)
    assert drawn["ece_null_95"] == pytest.approx(0.8)


def test_nan_probabilities_are_refused():
    with pytest.raises(ValueError, match="probabilities should be numbers; 2 of 4 are NaN"):
        calibrated_errors(np.array([[0.5, 0.5], [np.nan, np.nan]]))
