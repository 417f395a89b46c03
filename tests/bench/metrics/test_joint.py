"""Scores of joint predictions against enumeration, closed forms and the marginal scores."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import classification, joint, regression
from lockstep_bench.methods.maths.predictive import Classes, NormalMixtures, Normals, Quantiles, StudentT
from lockstep_bench.shared.schema import JOINT


def normals(n_samples: int, n_points: int) -> Normals:
    return Normals(torch.randn(n_samples, n_points), torch.rand(n_samples, n_points) + 0.2)


def test_dyadic_nmll_is_the_mean_over_all_choices_of_ten_labels():
    components = regression.log_densities(normals(3, 2), torch.randn(2)).numpy()
    choices = np.array(list(product((0, 1), repeat=10)))
    densities = np.exp(components[:, choices].sum(2)).mean(0)
    found = joint.dyadic_nmll(components, np.array([[0, 1]]))
    assert found == pytest.approx(-np.log(densities).mean() / 10, rel=1e-12)


def test_joint_nmll_is_the_density_of_all_labels_of_a_group():
    predictive, y = Classes(torch.randn(4, 6, 3).log_softmax(-1)), torch.tensor([0, 1, 2, 0, 1, 2]).double()
    components = classification.log_densities(predictive, y).numpy()
    points = np.array([[0, 1, 2], [5, 3, 4]])
    densities = [np.mean([np.prod(np.exp(row[group])) for row in components]) for group in points]
    assert joint.joint_nmll(components, points) == pytest.approx(-np.log(densities).mean() / 3, rel=1e-12)


@pytest.mark.parametrize("n_points", [10, 50])
def test_joint_scores_of_one_sample_are_the_nmll(n_points):
    predictive, y = normals(1, n_points), torch.randn(n_points)
    found = metrics.evaluate_joint(predictive, y, 2.0)
    assert found["nmll_joint_10"] == pytest.approx(metrics.nmll(predictive, y), rel=1e-9)
    assert found["nmll_dyadic"] == pytest.approx(metrics.nmll(predictive, y), rel=1e-9)


def test_joint_scores_distinguish_predictives_of_equal_marginals():
    """Samples agree about all points or are shuffled at each: the marginals are equal."""
    generator = torch.Generator().manual_seed(0)
    offset = torch.randn(200, 1, generator=generator)
    together = Normals(offset.expand(200, 40), torch.full((200, 40), 0.01))
    shuffled = torch.stack([offset[torch.randperm(200, generator=generator), 0] for _ in range(40)], 1)
    apart, y = Normals(shuffled, together.variance), torch.full((40,), 0.5)
    assert metrics.nmll(together, y) == pytest.approx(metrics.nmll(apart, y), rel=1e-5)
    one, other = (metrics.evaluate_joint(each, y, 1.0) for each in (together, apart))
    assert all(one[name] < other[name] for name in ("nmll_joint_10", "nmll_dyadic", "energy_score"))


def test_groups_have_different_points_and_use_all_of_them():
    found = joint.groups(25, 10, 30)
    assert found.shape == (30, 10)
    assert all(len(set(group)) == 10 for group in found)
    assert set(found.ravel()) == set(range(25))
    np.testing.assert_array_equal(found, joint.groups(25, 10, 30))


def test_energy_score_of_a_point_mass_is_the_distance_from_the_targets():
    predictive = Normals(torch.zeros(1, 10), torch.full((1, 10), 1e-12))
    y = torch.arange(10).double()
    assert joint.energy_score(predictive, y, np.arange(10)[None]) == pytest.approx(math.sqrt(285), rel=1e-5)


def of_ten_normals() -> float:
    """E|Z| of a standard normal vector in ten dimensions."""
    return math.sqrt(2) * math.exp(math.lgamma(5.5) - math.lgamma(5))


# Ten targets at the predictive's mean, for independent standard normal labels: E|Z| - E|Z - Z'| / 2.
SPHERICAL = of_ten_normals() * (1 - math.sqrt(0.5))


@pytest.mark.parametrize(
    "predictive",
    [
        Normals(torch.zeros(1, 4000), torch.ones(1, 4000)),
        Normals(torch.zeros(7, 4000), torch.ones(7, 4000)),
        NormalMixtures(torch.tensor([-30.0, 0.0]).expand(1, 4000, 2), torch.zeros(1, 4000, 2), torch.ones(1, 4000, 2)),
        StudentT(torch.full((2, 4000), 1e6), torch.zeros(2, 4000), torch.ones(2, 4000)),
    ],
    ids=["normal", "equal samples", "mixture of normals", "student t"],
)
def test_energy_score_of_a_spherical_normal_has_its_closed_form(predictive):
    found = joint.energy_score(predictive, torch.zeros(4000), np.arange(4000).reshape(400, 10))
    assert found == pytest.approx(SPHERICAL, rel=0.01)


def test_energy_score_is_in_units_of_the_training_targets():
    predictive, y = normals(5, 30), torch.randn(30)
    one, other = (metrics.evaluate_joint(predictive, y, scale) for scale in (1.0, 4.0))
    assert one["energy_score"] == pytest.approx(4 * other["energy_score"])
    assert one["nmll_dyadic"] == other["nmll_dyadic"]


def test_a_predictive_gets_the_joint_scores_that_apply():
    assert metrics.evaluate_joint(normals(3, 12), torch.randn(12), 1.0).keys() == JOINT.keys()
    classes = Classes(torch.randn(3, 12, 2).log_softmax(-1))
    assert metrics.evaluate_joint(classes, torch.ones(12), 1.0).keys() == JOINT.keys() - {"energy_score"}
    quantiles = Quantiles.of(torch.tensor([0.1, 0.9]), torch.tensor([[0.0, 1.0]]).expand(12, 2))
    assert metrics.evaluate_joint(quantiles, torch.rand(12), 1.0).keys() == JOINT.keys() - {"energy_score"}
    assert metrics.evaluate_joint(normals(3, 9), torch.randn(9), 1.0).keys() == {"nmll_dyadic"}
    assert not metrics.evaluate_joint(normals(3, 1), torch.randn(1), 1.0)
