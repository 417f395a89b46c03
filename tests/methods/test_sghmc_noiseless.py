"""SGHMC without injected noise against momentum written out, and against the mode of a linear model."""

import torch

from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Problem, Step
from lockstep_bench.methods.sghmc_noiseless import SGHMCWithoutNoise

PER_ROW = 12 * 0.3 * 3**2  # N rows times the noise precision of standardised targets


def step(phase: str) -> Step:
    return Step(torch.tensor(7.0, dtype=torch.float64), phase)


def normal(dim: int, seed: int) -> torch.Tensor:
    return torch.randn(dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_update_is_momentum_with_a_step_for_each_weight(problem, batches, gradient_of):
    batch, method = batches(1), SGHMCWithoutNoise(friction=0.2)
    state = method.init(problem, Noise(normal(problem.dim, 0)))
    square, velocity = normal(problem.dim, 2).square() + 0.1, 0.01 * normal(problem.dim, 5)
    state = state._replace(velocity=velocity, scales=state.scales._replace(square=square))
    after, _ = method.update(problem, state, batch, Noise(normal(problem.dim, 1)), step("keep"))
    expected = 0.8 * velocity + problem.hparams.lr**2 / square.sqrt() * gradient_of(state.weights, batch) / PER_ROW
    torch.testing.assert_close(after.velocity, expected, rtol=1e-12, atol=1e-12)
    assert torch.equal(after.kept.draws[-1], state.weights + after.velocity)


def test_chain_with_all_rows_ends_at_the_mode_of_a_linear_model(hparams, batches):
    """Where minibatches make no noise, nothing spreads: a sampler would have the posterior's standard deviations."""
    one, batch = torch.tensor(1.0, dtype=torch.float64), batches(1, size=12)
    problem = Problem(MLP(3, hidden=()), Gaussian((0.01, 1.0)), hparams, 12 * one, 2 * one, 3 * one)
    inputs = torch.cat([batch.x[0], torch.ones(12, 1, dtype=torch.float64)], 1)
    precision = 0.7 * torch.eye(4, dtype=torch.float64) + 0.3 * 3**2 * inputs.T @ inputs
    mode = torch.linalg.solve(precision, 0.3 * 3**2 * inputs.T @ batch.y[0])
    method = SGHMCWithoutNoise(draws=5)
    state = method.init(problem, Noise(normal(problem.dim, 0)))
    for number in range(1500):
        phase = "keep" if number >= 1495 else "move"
        state, _ = method.update(problem, state, batch, Noise(normal(problem.dim, number)), step(phase))
    draws = method.finish(problem, state)
    torch.testing.assert_close(draws, mode.expand(5, -1), rtol=1e-6, atol=1e-6)
    assert torch.linalg.inv(precision).diagonal().sqrt().min() > 0.05
