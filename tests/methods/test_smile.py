"""SMILE: its stages, the noise that it measures, a step in scaled coordinates, and the posterior of its chains."""

from collections import Counter

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import strong_prior
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.methods.mcmc.mclmc import Chain, stepped
from lockstep_bench.methods.problem import Step
from lockstep_bench.methods.smile import LEAST_SCALE, MEMORY, SMILE, GradientNoise
from lockstep_bench.methods.training.optim import SGD

ONE = torch.tensor(1.0, dtype=torch.float64)


def noise_of(seed: int = 0) -> LiveNoise:
    return LiveNoise(torch.Generator().manual_seed(seed), torch.float64)


def test_smile_chains_have_the_planned_stages_and_draws():
    plan = Plan(1000, 10.0)
    found = Counter(SMILE(draws=25).phase(update, plan) for update in range(1, 1001))
    assert found == {"train": 200, "tune": 300, "move": 475, "keep": 25}
    assert SMILE().updates(Plan(1000, 10.0)) == 10_000  # 1000 passes
    assert [SMILE().phase(update, Plan(2, 1.0)) for update in (1, 2)] == ["tune", "keep"]


def test_first_updates_equal_those_of_the_optimiser(problem, batches, gradient_of):
    method, batch = SMILE(), batches(1)
    state = method.init(problem, noise_of())._replace(optim=SGD())
    after, _ = method.update(problem, state, batch, noise_of(1), Step(ONE, "train"))
    torch.testing.assert_close(after.weights, state.weights + 0.05 * gradient_of(state.weights, batch))


def test_gradient_variance_is_an_exponential_moving_average():
    gradients = (noise_of().normal(300, 4) * torch.tensor([1.0, 2.0, 3.0, 4.0]) + 5).numpy()
    found = GradientNoise.init(torch.tensor(gradients[0]))
    for gradient in gradients:
        found = found.after(torch.tensor(gradient))
    weights = MEMORY ** np.arange(299, -1, -1)
    mean = np.average(gradients, axis=0, weights=weights)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.square, np.average((gradients - mean) ** 2, axis=0, weights=weights), rtol=1e-12)


def test_preconditioner_scales_are_relative_standard_deviations():
    square = torch.tensor([1.0, 4.0, 4.0], dtype=torch.float64)
    scales, size = GradientNoise(square, square, ONE).scales()
    torch.testing.assert_close(scales, torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64) / 3**0.5)
    assert float(size) == pytest.approx(3)
    scales, _ = GradientNoise(square, torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64), ONE).scales()
    assert float(scales[0] / scales[1]) == pytest.approx(LEAST_SCALE / 1.5**0.5)


def test_step_equals_mclmc_in_scaled_coordinates(problem, batches, gradient_of, log_posterior):
    method, batch = SMILE(turn=0.02), batches(1)
    state = method.init(problem, noise_of())
    square = noise_of(2).normal(problem.dim).square()
    state = state._replace(spread=GradientNoise(square, square, ONE))
    after, _ = method.update(problem, state, batch, noise_of(1), Step(ONE, "move"))
    scales, size = state.spread.scales()
    step = torch.minimum(state.tuning.step, 0.02 * (problem.dim - 1) / size)

    def log_density(scaled):
        return gradient_of(scaled / scales, batch) / scales, log_posterior(scaled / scales, batch)

    chain = Chain(scales * state.weights, state.velocity, *log_density(scales * state.weights))
    expected, _, _ = stepped(log_density, chain, step, 15 * ONE, noise_of(1))
    torch.testing.assert_close(after.weights, expected.weights / scales)
    torch.testing.assert_close(after.velocity, expected.velocity)
    assert float(torch.linalg.vector_norm(after.velocity)) == pytest.approx(1)
    moved = torch.linalg.vector_norm(scales * (after.weights - state.weights))
    assert float(moved) <= float(step)


def test_minibatch_gradient_noise_limits_the_step(problem, batches):
    method, batch = SMILE(turn=0.1), batches(1)
    state = method.init(problem, noise_of())
    square = torch.full_like(state.weights, 1e8)
    state = state._replace(spread=GradientNoise(state.weights, square, ONE))
    after, _ = method.update(problem, state, batch, noise_of(1), Step(ONE, "move"))
    torch.testing.assert_close(after.tuning.step, 0.1 * (problem.dim - 1) / (1e4 * ONE * problem.dim**0.5))


@pytest.mark.parametrize("batch_size", [pytest.param(6, marks=pytest.mark.slow), 15])
def test_chains_sample_the_exact_linear_posterior(batch_size):
    """Within 3 standard errors of a few hundred independent draws, which also hide what steps and minibatches bias."""
    problem = strong_prior(1)
    exact = problem.posterior()
    fits = problem.fit(SMILE(passes=24_000 // (60 // batch_size)), 6000, batch_size, seeds=range(4), lr=5e-3)
    samples = problem.weight_samples(fits, 400).reshape(-1, 3)
    sds = np.sqrt(np.diag(exact.covariance))
    assert np.abs((samples.mean(0) - exact.mean) / sds).max() < 0.12
    np.testing.assert_allclose(np.cov(samples.T) / np.outer(sds, sds), exact.covariance / np.outer(sds, sds), atol=0.15)
