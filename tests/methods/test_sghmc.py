"""Scale-adapted SGHMC against the written updates by autograd, and against SGHMC of the package posteriors."""

import pytest
import torch

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Batch, Step
from lockstep_bench.methods.sghmc import SGHMC, Scales

PER_ROW = 12 * 0.3 * 3**2  # N rows times the noise precision of standardised targets


def normal(dim: int, seed: int) -> torch.Tensor:
    return torch.randn(dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start(problem, square: torch.Tensor):
    state = SGHMC().init(problem, Noise(normal(problem.dim, 0)))
    return state._replace(velocity=0.01 * normal(problem.dim, 5), scales=state.scales._replace(square=square))


def step(phase: str) -> Step:
    return Step(torch.tensor(7.0, dtype=torch.float64), phase)


def test_sghmc_update_equals_that_of_springenberg(problem, batches, gradient_of):
    batch, noise = batches(1), normal(problem.dim, 1)
    state = start(problem, normal(problem.dim, 2).square() + 0.1)
    after, _ = SGHMC(friction=0.2).update(problem, state, batch, Noise(noise), step("keep"))
    epsilon = problem.hparams.lr
    root = (PER_ROW**2 * state.scales.square).sqrt()  # of the mean squared gradient of the log posterior
    variance = 2 * epsilon**2 * 0.2 / root - epsilon**4
    assert (variance > 0).all()
    force = epsilon**2 / root * gradient_of(state.weights, batch)
    velocity = state.velocity + force - 0.2 * state.velocity + variance.sqrt() * noise
    torch.testing.assert_close(after.velocity, velocity, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(after.weights, state.weights + velocity, rtol=1e-12, atol=1e-12)
    assert torch.equal(after.kept.draws[-1], after.weights)
    assert after.scales is state.scales


def test_sghmc_at_unit_scale_equals_package_posteriors(problem, batches, log_posterior, posteriors):
    """In `posteriors` momentum is the velocity over epsilon, and moves the weights before it is updated."""
    batch, state = batches(5), start(problem, torch.ones(problem.dim, dtype=torch.float64))
    rate = float(problem.hparams.lr**2)
    epsilon = (rate / PER_ROW) ** 0.5
    theirs = posteriors.sghmc.build(
        lambda weights, data: (log_posterior(weights, data), torch.tensor([])),
        lr=epsilon,
        alpha=0.3 / epsilon,
        beta=PER_ROW**2,
    )
    for number in range(5):
        rows = Batch(batch.x[[number]], batch.y[[number]])
        before = theirs.init(state.weights.clone(), momenta=state.velocity / epsilon)
        torch.manual_seed(number)
        after, _ = theirs.update(before, rows)
        torch.manual_seed(number)
        noise = torch.randn(problem.dim, dtype=torch.float64)
        earlier, (state, _) = state, SGHMC(friction=0.3).update(problem, state, rows, Noise(noise), step("move"))
        torch.testing.assert_close(state.velocity, epsilon * after.momenta, rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(earlier.weights + earlier.velocity, after.params, rtol=1e-8, atol=1e-10)


def test_gradient_noise_correction_keeps_variance_nonnegative(problem, batches):
    state = start(problem, torch.full((problem.dim,), 1e6, dtype=torch.float64))
    results = [
        SGHMC().update(problem, state, batches(1), Noise(normal(problem.dim, seed)), step("move"))[0].velocity
        for seed in (1, 2)
    ]
    assert torch.equal(*results)


def test_limit_shortens_whole_force_and_keeps_its_direction(problem, batches, gradient_of):
    """With no velocity and no room for noise, the update is the force: at most a root mean square of 10."""
    state = start(problem, torch.full((problem.dim,), 1.0, dtype=torch.float64))
    far = state._replace(weights=1e4 * state.weights, velocity=torch.zeros_like(state.velocity))
    batch, rate = batches(1), problem.hparams.lr.square()
    noise = torch.zeros(problem.dim, dtype=torch.float64)
    after, _ = SGHMC().update(problem, far, batch, Noise(noise), step("move"))
    force, gradient = -after.velocity / rate, -gradient_of(far.weights, batch)
    assert (gradient / PER_ROW).square().mean().sqrt() > 100
    assert force.square().mean().sqrt().item() == pytest.approx(10, rel=1e-12)
    torch.testing.assert_close(torch.nn.functional.cosine_similarity(force, gradient, dim=0).item(), 1.0)


def test_preconditioner_averages_squared_gradients():
    """V has the mean square where gradients are noise, and tau stays short where they do not change."""
    scales = Scales.init(torch.zeros(2000, dtype=torch.float64))
    for seed in range(600):
        scales = scales.after(3 * normal(2000, seed))
    assert float(scales.square.mean()) == pytest.approx(9, rel=0.05)
    assert float(scales.time.min()) > 5
    scales = Scales.init(torch.zeros(3, dtype=torch.float64))
    for _ in range(50):
        scales = scales.after(torch.full((3,), 2.0, dtype=torch.float64))
    torch.testing.assert_close(scales.square, torch.full((3,), 4.0, dtype=torch.float64))
    torch.testing.assert_close(scales.time, torch.ones(3, dtype=torch.float64), rtol=1e-3, atol=0)


def test_preconditioner_adapts_only_during_burn_in():
    plan, method = Plan(1000, 10.0), SGHMC(draws=20)
    phases = [method.phase(number, plan) for number in range(1, 1001)]
    assert set(phases[:500]) == {"adapt"}
    assert set(phases[500:]) == {"keep", "move"}
    assert [number for number, phase in enumerate(phases, 1) if phase == "keep"] == list(range(525, 1001, 25))
