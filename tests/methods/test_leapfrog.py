"""HMC of fixed trajectories: leapfrog steps, acceptance, and the posterior that its chains draw from."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import strong_prior
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.leapfrog import Leapfrog, StepLength, _energy
from lockstep_bench.methods.maths.noise import LiveNoise, Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Batch, Step

ONE = torch.tensor(1.0, dtype=torch.float64)


def test_full_fit_runs_all_planned_trajectories():
    method = Leapfrog(training=120, warmup=10, draws=20, steps=8)
    plan = Plan(method.updates(Plan(100, 1)), 1)
    found = Counter(method.phase(update, plan) for update in range(1, plan.n_updates + 1))
    assert found == {"train": 120, "start": 1, "leap": 30 * 7, "tune": 10, "keep": 20}


def started(problem, batches, step: float):
    batch = batches(1, 12)
    full = Batch(batch.x, batch.y, torch.ones_like(batch.y))
    method, noise = Leapfrog(draws=5), LiveNoise(torch.Generator().manual_seed(0), torch.float64)
    state = method.update(problem, method.init(problem, noise), full, noise, Step(ONE, "start"))
    return method, full, state._replace(step=step * ONE)


def test_leapfrog_trajectory_is_reversible(problem, batches):
    method, full, state = started(problem, batches, 0.01)
    there = state
    for _ in range(7):
        there = method.update(problem, there, full, Noise(torch.zeros(0)), Step(ONE, "leap"))
    back = there._replace(momentum=-there.momentum)
    for _ in range(7):
        back = method.update(problem, back, full, Noise(torch.zeros(0)), Step(ONE, "leap"))
    assert not torch.allclose(there.place.weights, state.place.weights)
    assert back.place.weights.tolist() == pytest.approx(state.place.weights.tolist())
    assert back.momentum.tolist() == pytest.approx((-state.momentum).tolist())


def test_leapfrog_energy_error_scales_with_squared_step(problem, batches):
    problem, errors = replace(problem, network=MLP(3, ())), []  # a density without kinks
    for n_steps in (8, 16, 32):
        method, full, state = started(problem, batches, 0.16 / n_steps)
        for _ in range(n_steps):
            state = method.update(problem, state, full, Noise(torch.zeros(0)), Step(ONE, "leap"))
        errors.append(abs(float(_energy(state.place, state.momentum) - state.energy)))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.2)


def test_trajectory_with_large_energy_gain_is_rejected(problem, batches):
    method, full, state = started(problem, batches, 0.01)
    hopeless = state._replace(energy=state.energy - 1000)
    noise = LiveNoise(torch.Generator().manual_seed(1), torch.float64)
    after = method.update(problem, hopeless, full, noise, Step(ONE, "keep"))
    assert all(map(torch.equal, after.place, state.start))
    assert float(after.accepted[1]) == pytest.approx(0)
    assert torch.equal(after.draws[-1], state.start.weights)


def test_dual_averaging_reaches_the_target_acceptance():
    zero = 0 * ONE
    length = StepLength(zero, zero, zero, zero)
    for _ in range(2000):  # accepted with probability exp(-step): 0.8 at a step of 0.223
        length = length.after(torch.exp(-length.log_step.exp()))
    assert float(length.average.exp()) == pytest.approx(-np.log(0.8), rel=0.02)


def test_chains_sample_the_exact_linear_posterior():
    problem = strong_prior(0, dim=3)
    fits = problem.fit(Leapfrog(warmup=100, draws=500, steps=16), 200, 10, range(4), lr=3e-3)
    draws = problem.weight_samples(fits, 4 * 500).reshape(-1, 3)
    exact = problem.posterior()
    assert draws.mean(0) == pytest.approx(exact.mean, abs=0.1 * np.sqrt(np.diag(exact.covariance)).min())
    assert np.cov(draws.T) == pytest.approx(exact.covariance, rel=0.1, abs=0.05 * exact.covariance.max())
    acceptance = [values["acceptance"] for values in fits.diagnostics()]
    assert np.mean(acceptance) == pytest.approx(0.8, abs=0.15)
