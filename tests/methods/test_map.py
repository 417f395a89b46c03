"""MAP and the deep ensemble against ridge regression, whose solution is exact."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from bench.reference.conjugate import correlated
from methods.deep_ensemble import DeepEnsemble
from methods.map import MAP


@pytest.mark.parametrize("method", [MAP(), DeepEnsemble()], ids=lambda method: method.name)
def test_finds_the_ridge_solution_of_a_linear_model(method):
    problem = correlated(seed=2, n_rows=100, alpha=5.0, beta=0.5)
    ridge = Ridge(alpha=problem.alpha / problem.beta, fit_intercept=False).fit(problem.x, problem.y)
    stack = problem.fit(method, lr=0.02, updates=1500, batch_size=100)
    samples = problem.weight_samples(stack, 10)[0]
    assert len(samples) == method.members
    np.testing.assert_allclose(samples, np.tile(ridge.coef_, (method.members, 1)), rtol=1e-5)


def test_members_start_apart_and_are_pooled_equally():
    problem = correlated(seed=2)
    stack = problem.fit(DeepEnsemble(), lr=0.001, updates=1, batch_size=10, seeds=(0, 1))
    weights = stack.posterior
    assert weights.shape == (10, 2)
    assert len(torch.unique(weights[:, 0])) == 10
    samples = problem.weight_samples(stack, 100)
    np.testing.assert_allclose(samples, weights.unflatten(0, (2, 5)).numpy())
    assert stack.n_parameters == 10
