"""Cyclical SG-MCMC against the written updates by autograd, and against the package posteriors."""

import math

import pytest
import torch

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.csgmcmc import CyclicalSGMCMC, Stage
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Step

PER_ROW = 12 * 0.3 * 3**2  # N rows times the noise precision of standardised targets


def normal(dim: int, seed: int) -> torch.Tensor:
    return torch.randn(dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start(problem):
    state = CyclicalSGMCMC().init(problem, Noise(normal(problem.dim, 0)))
    return state._replace(velocity=0.01 * normal(problem.dim, 5))


def step(number: int, samples: bool, cycle: int = 50) -> Step:
    return Step(torch.tensor(float(number), dtype=torch.float64), Stage(samples, samples, cycle))


def rate(number: int, cycle: int = 50) -> float:
    """Return the step of equation 1 of Zhang et al. 2020."""
    return 0.05 / 2 * (math.cos(math.pi * ((number - 1) % cycle) / cycle) + 1)


@pytest.mark.parametrize("number", [1, 23, 50, 51, 149])
def test_exploration_is_momentum_sgd_with_cyclical_steps(problem, batches, gradient_of, number):
    batch, state = batches(1), start(problem)
    after = CyclicalSGMCMC().update(problem, state, batch, Noise(torch.zeros(0)), step(number, False))
    moved = 0.9 * state.velocity + rate(number) * gradient_of(state.weights, batch) / PER_ROW
    torch.testing.assert_close(after.weights, state.weights + moved, rtol=1e-12, atol=1e-12)
    assert after.kept is state.kept


def test_sampling_equals_sghmc_of_the_package_posteriors(problem, batches, log_posterior, posteriors):
    batch, state = batches(1), start(problem)
    epsilon = (rate(45) / PER_ROW) ** 0.5
    theirs = posteriors.sghmc.build(
        lambda weights, data: (log_posterior(weights, data), torch.tensor([])), lr=epsilon, alpha=0.1 / epsilon
    )
    torch.manual_seed(3)
    expected, _ = theirs.update(theirs.init(state.weights, momenta=state.velocity / epsilon), batch)
    torch.manual_seed(3)
    noise = Noise(torch.randn(problem.dim, dtype=torch.float64))
    after = CyclicalSGMCMC().update(problem, state, batch, noise, step(45, True))
    torch.testing.assert_close(after.velocity, epsilon * expected.momenta, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(after.weights, state.weights + after.velocity)
    assert torch.equal(after.kept.draws[-1], after.weights)


def test_sampling_without_momentum_is_sgld(problem, batches, gradient_of):
    batch, state, noise = batches(1), start(problem), normal(problem.dim, 1)
    after = CyclicalSGMCMC(friction=1.0).update(problem, state, batch, Noise(noise), step(95, True))
    epsilon = 2 * rate(95) / PER_ROW
    expected = state.weights + epsilon / 2 * gradient_of(state.weights, batch) + epsilon**0.5 * noise
    torch.testing.assert_close(after.weights, expected, rtol=1e-12, atol=1e-12)


def test_draws_are_taken_at_the_ends_of_cycles():
    plan, method = Plan(400, 10.0), CyclicalSGMCMC(draws=8)
    phases = [method.phase(number, plan) for number in range(1, 401)]
    assert [number for number, phase in enumerate(phases, 1) if phase.keeps] == [90, 100, 190, 200, 290, 300, 390, 400]
    assert [number for number, phase in enumerate(phases, 1) if phase.samples][:21] == [*range(81, 101), 181]


def test_truncated_last_cycle_gives_as_many_draws():
    plan, method = Plan(998, 10.0), CyclicalSGMCMC(draws=8, cycles=4, exploration=0.5)
    kept = [number for number in range(1, 999) if method.phase(number, plan).keeps]
    assert len(kept) == 8
    assert kept[-1] == 998
