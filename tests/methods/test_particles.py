"""SVGD and repulsive ensembles against autograd of the kernel, and against fixed points that are known exactly."""

import math

import numpy as np
import pytest
import torch
from torch.func import grad

from lockstep_bench.bench.reference.conjugate import orthogonal, strong_prior
from lockstep_bench.methods.maths.noise import LiveNoise, Noise
from lockstep_bench.methods.particles import SVGD, ParticleState, RepulsiveEnsemble, kernel_of, median_of
from lockstep_bench.methods.problem import Step
from lockstep_bench.methods.training.optim import SGD

NONE = Noise(torch.zeros(0))


def log_posterior(problem, hparams, weights, batch):
    prior = torch.distributions.Normal(0.0, hparams.prior_precision**-0.5).log_prob(weights).sum()
    return prior - problem.n_train * problem.nll(weights, batch)


@pytest.mark.parametrize("method", [SVGD(4), RepulsiveEnsemble(4)], ids=lambda method: method.name)
def test_svgd_update_follows_the_published_direction(method, problem, hparams, batches):
    batch, noise = batches(1), LiveNoise(torch.Generator().manual_seed(0), torch.float64)
    particles = method.init(problem, noise).particles
    pairs = [(a - b).norm() for number, a in enumerate(particles) for b in particles[:number]]
    bandwidth = np.median(pairs) ** 2 / math.log(4)
    kernel = lambda a, b: torch.exp(-(a - b).square().sum() / bandwidth)  # noqa: E731
    scores = [grad(lambda weights: log_posterior(problem, hparams, weights, batch))(one) for one in particles]
    directions = []
    for at, score in zip(particles, scores, strict=True):
        if isinstance(method, SVGD):
            terms = [kernel(a, at) * s + grad(kernel)(a, at) for a, s in zip(particles, scores, strict=True)]
            directions.append(sum(terms) / 4)
        else:
            density = sum(kernel(at, b) for b in particles)
            directions.append(score - sum(grad(kernel)(at, b) for b in particles) / density)
    after, reported = method.update(
        problem, ParticleState(particles, SGD()), batch, NONE, Step(torch.tensor(1.0), None)
    )
    torch.testing.assert_close((after.particles - particles) / hparams.lr, torch.stack(directions))
    constant = 0.5 * problem.dim * (hparams.prior_precision.log() - math.log(2 * math.pi))  # of the prior
    values = [log_posterior(problem, hparams, one, batch) - constant for one in particles]
    torch.testing.assert_close(reported["objective"], -sum(values) / 4)


@pytest.mark.parametrize("count", [1, 2, 7, 190])
def test_kernel_bandwidth_median_equals_numpy(count):
    numbers = torch.randn(count, generator=torch.Generator().manual_seed(count), dtype=torch.float64)
    assert float(median_of(numbers)) == np.median(numbers)
    ties = (2 * numbers).round()
    assert float(median_of(ties)) == np.median(ties)


def test_kernel_of_coinciding_particles_is_one():
    kernel = kernel_of(torch.zeros(3, 5))
    assert torch.equal(kernel.values, torch.ones(3, 3))
    assert torch.equal(kernel.repulsion(torch.zeros(3, 5)), torch.zeros(3, 5))


def test_fewer_than_two_particles_are_refused():
    with pytest.raises(ValueError, match="at least 2, not 1"):
        SVGD(1)


def test_stein_weighted_mean_of_particles_is_the_posterior_mean():
    # At a fixed point the repulsions cancel in the sum over all particles, and of a Gaussian the scores are linear:
    # sum_ij k_ij (theta_j - mean) = 0, for any number of particles.
    problem = strong_prior(0)
    stack = problem.fit(SVGD(6), lr=0.003, updates=6000, batch_size=len(problem.x))
    particles = stack.posterior[0].double()
    weights = kernel_of(particles - particles.mean(0)).values.sum(0)
    mean = (weights[:, None] * particles).sum(0) / weights.sum()
    np.testing.assert_allclose(mean, problem.posterior().mean, rtol=1e-4)


def test_svgd_of_one_weight_has_the_posterior_variance():
    problem = orthogonal(0, dim=1)
    stack = problem.fit(SVGD(30), lr=0.003, updates=3000, batch_size=len(problem.x))
    samples = problem.weight_samples(stack, 30)[0, :, 0]
    exact = problem.posterior()
    assert samples.mean() == pytest.approx(exact.mean[0], abs=0.02 * exact.covariance[0, 0] ** 0.5)
    assert samples.var() == pytest.approx(exact.covariance[0, 0], rel=0.1)


def test_repulsive_ensembles_density_has_the_posterior_score():
    # Where kde-WGD rests, the gradient of log sum_j k(theta, theta_j) at each particle is that of the posterior.
    problem = strong_prior(0)
    stack = problem.fit(RepulsiveEnsemble(6), lr=0.003, updates=6000, batch_size=len(problem.x))
    particles, exact = stack.posterior[0].double(), problem.posterior()
    bandwidth = torch.pdist(particles).median() ** 2 / math.log(6)  # of 15 pairs
    log_density = lambda at: torch.logsumexp(-(at - particles).square().sum(1) / bandwidth, 0)  # noqa: E731
    scores = torch.stack([grad(log_density)(one) for one in particles]).numpy()
    expected = (exact.mean - particles.numpy()) @ np.linalg.inv(exact.covariance)
    np.testing.assert_allclose(scores, expected, atol=0.01 * np.abs(expected).max())
