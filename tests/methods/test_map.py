"""MAP and the deep ensemble against ridge regression, whose solution is exact."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from lockstep_bench import methods
from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.map import MAP, MAPState
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD


@pytest.mark.parametrize("method", [MAP(), methods.get("deep-ensemble")], ids=lambda method: method.name)
def test_map_finds_the_ridge_solution(method):
    problem = correlated(seed=2, n_rows=100, alpha=5.0, beta=0.5)
    ridge = Ridge(alpha=problem.alpha / problem.beta, fit_intercept=False).fit(problem.x, problem.y)
    stack = problem.fit(method, lr=0.02, updates=1500, batch_size=100)
    samples = problem.weight_samples(stack, 10)[0]
    assert len(samples) == method.members
    np.testing.assert_allclose(samples, np.tile(ridge.coef_, (method.members, 1)), rtol=1e-5)


def test_clipped_update_follows_the_clipped_gradient():
    images = Task("any", Categorical(10), preresnet_20(), pretrained=True)
    assert (MAP().suited_to(images).max_norm, methods.get("deep-ensemble").suited_to(images).max_norm) == (10, 10)
    assert MAP().suited_to(replace(images, pretrained=False)).max_norm == 0
    one = torch.tensor(1.0, dtype=torch.float64)
    hparams = HParams(lr=0.1 * one, prior_precision=4 * one, noise_precision=one)
    problem = Problem(MLP(2, hidden=(), bias=False), Gaussian((1.0, 1.0)), hparams, 7 * one, 0 * one, one)
    batch = Batch(torch.tensor([[[1.0, 2.0]]]).double(), torch.tensor([[30.0]]).double())
    weights = torch.tensor([0.5, -1.0]).double()
    gradient = 7 * (weights @ batch.x[0, 0] - 30) * batch.x[0, 0] + 4 * weights
    after, _ = MAP(10.0).update(problem, MAPState(weights, SGD()), batch, Noise(None), Step(one, None))
    torch.testing.assert_close(after.weights, weights - 0.1 * 10 * gradient / gradient.norm())


def test_ensemble_members_start_differently_and_pool_equally():
    problem = correlated(seed=2)
    stack = problem.fit(methods.get("deep-ensemble"), lr=0.001, updates=1, batch_size=10, seeds=(0, 1))
    weights = stack.posterior
    assert weights.shape == (10, 2)
    assert len(torch.unique(weights[:, 0])) == 10
    samples = problem.weight_samples(stack, 100)
    np.testing.assert_allclose(samples, weights.unflatten(0, (2, 5)).numpy())
    assert stack.n_parameters == 10
