"""SGLD and pSGLD against the written updates by autograd, and against the package posteriors."""

import numpy as np
import pytest
import torch

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Batch, Step
from lockstep_bench.methods.sgld import PSGLD, SGLD, Position
from lockstep_bench.methods.training.chains import gradient_and_objective
from lockstep_bench.methods.training.sgd import MAX_GRADIENT_NORM


def normal(problem, seed: int) -> torch.Tensor:
    return torch.randn(problem.dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start(method, problem):
    return method.init(problem, Noise(normal(problem, 0)))


def step_at(number: int, growth: float = 0.0, *, keeps: bool = True) -> Step:
    return Step(torch.tensor(float(number), dtype=torch.float64), Position(keeps, growth))


def test_sgld_update_equals_that_of_welling_and_teh(problem, batches, gradient_of):
    batch, noise, method = batches(1), normal(problem, 1), SGLD()
    state = start(method, problem)
    assert gradient_and_objective(problem, state.weights, batch)[0].norm() < MAX_GRADIENT_NORM
    after, _ = method.update(problem, state, batch, Noise(noise), step_at(11, growth=0.3))
    rate = 0.05 * (1 + 0.3 * 10) ** -0.55
    epsilon = 2 * rate / (12 * 0.3 * 3**2)  # of N rows and the noise precision of standardised targets
    expected = state.weights + epsilon / 2 * gradient_of(state.weights, batch) + epsilon**0.5 * noise
    torch.testing.assert_close(after.weights, expected, rtol=1e-12, atol=1e-12)
    assert torch.equal(after.kept.draws[-1], after.weights)


def test_sgld_updates_equal_package_posteriors(problem, batches, log_posterior, posteriors):
    method, batch = SGLD(), batches(5)
    state = start(method, problem)
    rate = float(0.05 / (12 * 0.3 * 3**2))
    theirs = posteriors.sgld.build(lambda weights, data: (log_posterior(weights, data), torch.tensor([])), lr=rate)
    their_state = theirs.init(state.weights.clone())
    for number in range(5):
        rows = Batch(batch.x[[number]], batch.y[[number]])
        torch.manual_seed(number)
        their_state, _ = theirs.update(their_state, rows)
        torch.manual_seed(number)
        noise = torch.randn(problem.dim, dtype=torch.float64)
        state, _ = method.update(problem, state, rows, Noise(noise), step_at(number + 1))
        torch.testing.assert_close(state.weights, their_state.params, rtol=1e-10, atol=1e-10)


def test_preconditioned_update_equals_algorithm_1_of_li(problem, batches, gradient_of):
    method, square = PSGLD(), None
    batch = batches(2)
    state, square = start(method, problem), torch.zeros(problem.dim, dtype=torch.float64)
    per_row = 12 * 0.3 * 3**2
    for number in range(2):
        rows, noise = Batch(batch.x[[number]], batch.y[[number]]), normal(problem, number)
        gradient = gradient_of(state.weights, rows)
        square = 0.99 * square + 0.01 * (gradient / per_row) ** 2
        scale = 1 / (1e-5 + square.sqrt())
        epsilon = 2 * 0.05 / per_row
        expected = state.weights + epsilon / 2 * scale * gradient + (epsilon * scale).sqrt() * noise
        state, _ = method.update(problem, state, rows, Noise(noise), step_at(number + 1))
        torch.testing.assert_close(state.weights, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("last_step", [1.0, 0.1, 0.01])
def test_step_size_falls_to_its_final_value(problem, batches, last_step):
    plan, method = Plan(500, 10.0), SGLD(last_step=last_step)
    last = method.phase(500, plan)
    still = Noise(torch.zeros(2 * problem.dim, dtype=torch.float64))
    state, batch = start(method, problem), batches(1)
    moves = [
        method.update(problem, state, batch, still, Step(torch.tensor(float(number)), last))[0].weights - state.weights
        for number in (1, 500)
    ]
    torch.testing.assert_close(moves[1], last_step * moves[0])


@pytest.mark.parametrize("last_step", [1.0, 0.1, 0.01])
def test_draws_are_equally_spaced_in_summed_steps(last_step):
    plan, method = Plan(20_000, 10.0), SGLD(last_step=last_step, draws=50)
    phases = [method.phase(number, plan) for number in range(1, 20_001)]
    kept = np.flatnonzero([phase.keeps for phase in phases])
    assert len(kept) == 50
    assert kept[0] >= 10_000
    assert kept[-1] == 19_999
    sums = np.cumsum((1 + phases[0].growth * np.arange(20_000)) ** -0.55)
    np.testing.assert_allclose(np.diff(sums[kept]), (sums[-1] - sums[9999]) / 50, rtol=0.02)
