"""Predictive agreement against closed forms."""

import pytest
import torch
from scipy.stats import norm

from lockstep_bench.bench.metrics.agreement import compare, sd_ratio
from lockstep_bench.methods.maths.predictive import Classes, Normals


def normals(*means: float, sd: float = 1.0) -> Normals:
    mean = torch.tensor(means)[:, None]
    return Normals(mean, torch.full_like(mean, sd**2))


@pytest.mark.parametrize("distance", [0.0, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("sd", [0.01, 5.0])
def test_total_variation_of_shifted_normals_has_closed_form(distance, sd):
    found = compare(normals(0.0, sd=sd), normals(distance * sd, sd=sd))["total_variation"]
    assert found == pytest.approx(2 * norm.cdf(distance / 2) - 1, abs=2e-4)


def test_total_variation_distinguishes_mixtures_of_equal_moments():
    one = compare(normals(-3.0, 3.0), normals(0.0, sd=10**0.5))["total_variation"]
    y = torch.linspace(-30, 30, 100_001, dtype=torch.float64)
    mixture = 0.5 * torch.tensor(norm.pdf(y, -3) + norm.pdf(y, 3))
    wanted = 0.5 * torch.trapezoid((mixture - torch.tensor(norm.pdf(y, 0, 10**0.5))).abs(), y)
    assert one == pytest.approx(wanted.item(), abs=1e-3)
    assert compare(normals(-3.0, 3.0), normals(3.0, -3.0))["total_variation"] == pytest.approx(0, abs=1e-12)


def test_class_agreement_compares_mean_probabilities():
    ours = Classes(torch.tensor([[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.2, 0.8]]]).log())
    theirs = Classes(torch.tensor([[[0.6, 0.4], [0.9, 0.1]]]).log())
    found = compare(ours, theirs)
    assert found["total_variation"] == pytest.approx((0.2 + 0.6) / 2, abs=1e-6)
    assert found["agreement"] == 0.5


def test_sd_ratio_averages_over_points_before_dividing():
    ours, theirs = torch.tensor([[0.0, 0.0], [2.0, 6.0]]), torch.tensor([[0.0, 0.0], [4.0, 4.0]])
    assert sd_ratio(ours, theirs) == 1.0
    assert sd_ratio(0 * ours, theirs) == 0.0
