"""The SGD trajectory against torch.optim and the solution it approaches."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Batch, Step
from lockstep_bench.methods.swag import SWA
from lockstep_bench.methods.training.sgd import MAX_GRADIENT_NORM, Trajectory, burn_in


def start(problem) -> Trajectory:
    generator = torch.Generator().manual_seed(0)
    return Trajectory.init(problem, Noise(torch.randn(problem.dim, generator=generator, dtype=torch.float64)))


def test_sgd_iterates_equal_torch_optim(problem, hparams, batches):
    trajectory = start(problem)
    weights = torch.nn.Parameter(trajectory.weights.clone())
    decay = hparams.prior_precision / (problem.n_train * hparams.noise_precision * problem.y_scale**2)
    optimizer = torch.optim.SGD([weights], lr=hparams.lr.item(), momentum=0.9, weight_decay=decay.item())
    batch = batches(30)
    for number in range(30):
        x, y = batch.x[number], batch.y[number]
        optimizer.zero_grad()
        (0.5 * (problem.network(weights, x)[:, 0] - y) ** 2).mean().backward()
        assert weights.grad.norm() < 0.9 * MAX_GRADIENT_NORM
        optimizer.step()
        count = torch.tensor(number + 1.0, dtype=torch.float64)
        posterior = problem.n_train * problem.nll(trajectory.weights, Batch(x[None], y[None]))
        posterior = posterior + 0.5 * hparams.prior_precision * trajectory.weights.square().sum()
        trajectory, reported = trajectory.step(problem, Batch(x[None], y[None]), Step(count, None))
        torch.testing.assert_close(trajectory.weights, weights.detach(), rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(reported["objective"], posterior)


def test_gradient_clipping_bounds_the_step(problem, hparams, batches):
    trajectory, batch = start(problem), batches(1)
    far = Batch(batch.x, 1e6 * batch.y)
    after, _ = trajectory.step(problem, far, Step(torch.tensor(1.0), None))
    assert (after.weights - trajectory.weights).norm().item() == pytest.approx(hparams.lr.item() * MAX_GRADIENT_NORM)


def test_sgd_approaches_the_linear_map_solution():
    problem = correlated(seed=2, n_rows=100, alpha=5.0, beta=0.5)
    ridge = Ridge(alpha=problem.alpha / problem.beta, fit_intercept=False).fit(problem.x, problem.y)
    stack = problem.fit(SWA(), lr=0.02, updates=1500, batch_size=100)
    np.testing.assert_allclose(problem.weight_samples(stack, 10)[0], ridge.coef_[None], rtol=1e-5)


def test_first_half_of_training_is_burn_in():
    assert [burn_in(Plan(n, 1.0)) for n in (1, 2, 7, 100)] == [0, 1, 3, 50]
