"""MCLMC: turns solve their differential equation, errors have the integrator's order, draws have known moments."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

from lockstep_bench.methods.maths.noise import LiveNoise, Noise
from lockstep_bench.methods.mcmc.mclmc import Chain, Tuning, _turned, started, stepped


@pytest.fixture
def noise():
    return LiveNoise(torch.Generator().manual_seed(0), torch.float64)


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


SCALES = torch.tensor([0.5, 1.0, 2.0, 1.0, 0.7], dtype=torch.float64)


def normal(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient and log density of independent normal numbers with standard deviations `SCALES`."""
    scales = SCALES[: len(weights)]
    return -weights / scales**2, -0.5 * (weights / scales).square().sum()


@pytest.mark.parametrize("time", [0.01, 0.5, 30.0])
def test_velocity_rotation_solves_its_differential_equation(noise, time):
    gradient, velocity = 3 * noise.normal(5), noise.normal(5)
    velocity = velocity / velocity.norm()

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        u, g = state[:-1], gradient.numpy()
        return np.append((g - u * (u @ g)) / 4, u @ g)

    exact = solve_ivp(rate, (0, time), np.append(velocity, 0.0), rtol=1e-10, atol=1e-10).y[:, -1]
    turned, gained = _turned(velocity, gradient, number(time))
    assert turned.numpy() == pytest.approx(exact[:-1], abs=1e-7)
    assert float(gained) == pytest.approx(exact[-1], rel=1e-7)


def test_velocity_rotation_by_huge_gradient_does_not_overflow():
    velocity = torch.tensor([1.0, 0.0, 0.0])
    turned, gained = _turned(velocity, torch.tensor([0.0, 1e6, 0.0]), torch.tensor(1.0))
    assert turned.tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    assert float(gained) == pytest.approx(1e6, rel=1e-3)


def test_energy_error_scales_with_cubed_step_length(noise):
    chain = started(normal, torch.tensor([0.4, -1.0, 0.8, 1.0, -0.2], dtype=torch.float64), noise)
    still = Noise(torch.zeros(10, dtype=torch.float64))
    errors = []
    for step in (0.1, 0.05, 0.025):
        errors.append(abs(float(stepped(normal, chain, number(step), number(math.inf), still)[1])))
        still = Noise(torch.zeros(10, dtype=torch.float64))
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(8, rel=0.2)


def test_velocity_decorrelates_over_the_decoherence_length(noise):
    flat = lambda weights: (torch.zeros_like(weights), torch.zeros((), dtype=torch.float64))  # noqa: E731
    length, step, agreement = number(1.0), number(0.05), []
    for _ in range(300):
        chain = first = started(flat, torch.zeros(200, dtype=torch.float64), noise)
        for _ in range(20):  # as far as the length
            chain, _, _ = stepped(flat, chain, step, length, noise)
        agreement.append(float(chain.velocity @ first.velocity))
    assert np.mean(agreement) == pytest.approx(math.exp(-1), abs=0.03)
    assert float(chain.velocity.norm()) == pytest.approx(1)


def test_mclmc_draws_have_the_moments_of_the_target(noise):
    chain = started(normal, torch.zeros(5, dtype=torch.float64), noise)
    draws = []
    for _ in range(5000):
        chain, _, _ = stepped(normal, chain, number(0.5), number(2.0), noise)
        draws.append(chain.weights)
    found = torch.stack(draws)
    assert found.mean(0).tolist() == pytest.approx([0] * 5, abs=0.2)
    assert found.std(0).tolist() == pytest.approx(SCALES.tolist(), rel=0.1)


@pytest.mark.parametrize("start", [1e-3, 3.0])
def test_step_length_tuning_reaches_target_energy_error_variance(noise, start):
    tuning, wanted, errors = Tuning.init(number(start)), number(5e-4), []
    chain = started(normal, torch.zeros(5, dtype=torch.float64), noise)
    for count in range(1500):
        chain, error, finite = stepped(normal, chain, tuning.step, number(2.0), noise)
        tuning = tuning.after(error, finite, 5, wanted)
        if count > 500:
            errors.append(float(error))
    assert np.square(errors).mean() / 5 == pytest.approx(5e-4, rel=0.5)


def test_steps_to_nonfinite_densities_are_rejected(noise):
    def half(weights: Tensor) -> tuple[Tensor, Tensor]:
        gradient, value = normal(weights)
        outside = weights[0] > 0.1
        return gradient, torch.where(outside, -math.inf, value)

    start = torch.zeros(5, dtype=torch.float64)
    gradient, value = half(start)
    chain = Chain(start, torch.eye(5, dtype=torch.float64)[0], gradient, value)
    after, error, finite = stepped(half, chain, number(1.0), number(math.inf), noise)
    assert not finite
    assert float(error) == 0
    assert all(map(torch.equal, after, chain))
    tuning = Tuning.init(number(1.0)).after(error, finite, 5, number(0.1))
    assert float(tuning.limit) == 1
    assert float(tuning.step) <= 1
