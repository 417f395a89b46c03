"""Areas under curves of risk against coverage, by hand, over all orders of ties, and from scikit-learn's AUROC."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from lockstep_bench.shared.uncertainty.risk_coverage import augrc, aurc, generalised_risk

WRONG = np.array([0.0, 0, 1, 1])


@pytest.mark.parametrize(
    ("uncertainty", "area", "generalised"),
    [
        ([1, 2, 3, 4], (0 + 0 + 1 / 3 + 1 / 2) / 4, 0.5**2 / 2),  # perfect
        ([4, 3, 2, 1], (1 + 1 + 2 / 3 + 1 / 2) / 4, 0.5**2 + 0.5**2 / 2),  # worst
        ([1, 1, 1, 1], 1 / 2, 1 / 4),  # no information
    ],
)
def test_aurc_and_augrc_equal_hand_computation(uncertainty, area, generalised):
    assert aurc(np.array(uncertainty), WRONG) == pytest.approx(area)
    assert augrc(np.array(uncertainty), WRONG) == pytest.approx(generalised)


def plain_areas(uncertainty, loss) -> tuple[float, float]:
    """Return AURC and AUGRC from their definitions, where no uncertainties are equal."""
    n = len(loss)
    accepted = [[loss[i] for i in range(n) if uncertainty[i] <= threshold] for threshold in sorted(uncertainty)]
    selective = [sum(part) / len(part) for part in accepted]
    joint = [0.0, *(sum(part) / n for part in accepted)]
    return sum(selective) / n, float(np.trapezoid(joint, dx=1 / n))


def test_aurc_and_augrc_follow_their_definitions():
    generator = np.random.default_rng(0)
    uncertainty, loss = generator.uniform(size=40), generator.exponential(size=40)
    assert (aurc(uncertainty, loss), augrc(uncertainty, loss)) == pytest.approx(plain_areas(uncertainty, loss))


def test_ties_average_over_all_their_orders():
    uncertainty, loss = np.array([1.0, 2, 2, 2, 3]), np.array([1.0, 0, 3, 5, 2])
    areas = [plain_areas([1, *order, 5], loss) for order in permutations((2, 3, 4))]
    assert (aurc(uncertainty, loss), augrc(uncertainty, loss)) == pytest.approx(np.mean(areas, axis=0).tolist())


@pytest.mark.parametrize("n_levels", [5, 1000])
def test_augrc_equals_traubs_formula_in_auroc(n_levels):
    generator = np.random.default_rng(1)
    uncertainty = generator.integers(n_levels, size=200)
    wrong = (generator.uniform(size=200) < 0.1 + 0.3 * uncertainty / n_levels).astype(float)
    rate, auroc = wrong.mean(), roc_auc_score(wrong, uncertainty)
    assert augrc(uncertainty, wrong) == pytest.approx((1 - auroc) * rate * (1 - rate) + rate**2 / 2, rel=1e-12)


def test_areas_do_not_depend_on_point_order():
    uncertainty, loss = np.array([3.0, 1, 2, 2]), np.array([1.0, 0, 1, 0])
    np.testing.assert_allclose(generalised_risk(uncertainty[::-1], loss[::-1]), generalised_risk(uncertainty, loss))


def test_area_of_one_point_is_its_loss():
    assert aurc(np.array([0.3]), np.array([4.0])) == 4.0
    assert augrc(np.array([0.3]), np.array([4.0])) == 2.0


def test_nan_and_empty_inputs_are_refused():
    with pytest.raises(ValueError, match="uncertainties should be numbers; 1 of 2 are NaN"):
        aurc(np.array([1.0, np.nan]), np.zeros(2))
    with pytest.raises(ValueError, match="losses should be numbers; 1 of 2 are NaN"):
        augrc(np.zeros(2), np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="at least one point"):
        aurc(np.array([]), np.array([]))
