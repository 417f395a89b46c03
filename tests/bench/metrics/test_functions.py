"""Distances between functions and predictives, against closed forms of normals."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from lockstep_bench.bench.metrics.functions import (
    covariance_distance,
    function_distances,
    predictive_wasserstein,
    wasserstein,
)
from lockstep_bench.methods.maths.predictive import Normals

LEVELS = (np.arange(5000) + 0.5) / 5000


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1.5, 1.0), (0.3, 2.5), (-2.0, 0.1)])
def test_wasserstein_of_normals_has_closed_form(shift, scale):
    ours, theirs = norm.ppf(LEVELS, shift, scale)[:, None], norm.ppf(LEVELS)[:, None]
    exact = np.hypot(shift, scale - 1)
    assert wasserstein(ours, theirs) == pytest.approx([exact], rel=2e-3, abs=1e-12)
    mixture = Normals(torch.full((1, 1), shift), torch.full((1, 1), scale**2))
    standard = Normals(torch.zeros(1, 1), torch.ones(1, 1))
    assert predictive_wasserstein(mixture, standard) == pytest.approx([exact], rel=5e-3, abs=1e-9)


def test_wasserstein_of_unequal_sample_sizes_repeats_samples_to_equal_sizes():
    generator = np.random.default_rng(0)
    ours, theirs = generator.standard_normal((6, 3)), generator.standard_normal((4, 3))
    repeated = np.sort(np.repeat(ours, 2, axis=0), axis=0), np.sort(np.repeat(theirs, 3, axis=0), axis=0)
    exact = np.sqrt(np.square(repeated[0] - repeated[1]).mean(0))
    np.testing.assert_allclose(wasserstein(ours, theirs), exact, rtol=1e-12)


def test_wasserstein_from_one_function_is_mean_and_spread():
    theirs = np.random.default_rng(1).standard_normal((50, 2))
    exact = np.sqrt(np.square(theirs - 3.0).mean(0))
    np.testing.assert_allclose(wasserstein(np.full((1, 2), 3.0), theirs), exact, rtol=1e-12)


def test_covariance_distance_is_relative_and_one_for_a_point():
    theirs = np.random.default_rng(2).standard_normal((40, 3))
    assert covariance_distance(theirs + 5, theirs) == pytest.approx(0, abs=1e-12)
    assert covariance_distance(theirs[:1], theirs) == 1.0
    assert covariance_distance(2 * theirs, theirs) == pytest.approx(3.0)


def test_distances_are_in_standard_deviations_of_the_reference():
    mean = torch.tensor(norm.ppf(LEVELS[::10]))[:, None] * torch.tensor([1.0, 10.0])
    reference = Normals(mean, torch.ones_like(mean) * torch.tensor([3.0, 300.0]))
    moved = Normals(mean + torch.tensor([1.0, 10.0]), reference.variance)
    found = function_distances(moved, reference, joint=True)
    assert found["function_w2"] == pytest.approx(1.0, rel=0.01)
    assert found["predictive_w2"] == pytest.approx(0.5, rel=0.01)  # the noise has three times the function's variance
    assert found["function_cov"] == pytest.approx(0.0, abs=1e-12)
    assert function_distances(moved, reference, joint=False).keys() == {"predictive_w2"}
