"""MILE: its stages, early stopping against scikit-learn's split sizes, and the posterior that its chains draw from."""

from collections import Counter

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import strong_prior
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.methods.mile import MILE, Phase
from lockstep_bench.methods.problem import Batch, Step

ONE = torch.tensor(1.0, dtype=torch.float64)


def stages(method: MILE, n_updates: int) -> Counter:
    plan = Plan(n_updates, 1)
    return Counter(method.phase(update, plan).stage for update in range(1, n_updates + 1))


def test_full_length_fit_has_the_published_stages():
    method = MILE(training=1200, warmup=100, draws=250, thinning=10)
    n_updates = method.updates(Plan(200, 1))
    assert n_updates == 1200 + 1 + 100 + 2500
    assert stages(method, n_updates) == {"train": 1200, "start": 1, "tune": 90, "wait": 10, "step": 2250, "keep": 250}


@pytest.mark.parametrize("epochs", [1, 10, 99])
def test_shorter_training_shortens_every_stage(epochs):
    method = MILE()
    n_updates = method.updates(Plan(epochs, 1))
    found = stages(method, n_updates)
    assert found.keys() >= {"train", "start", "tune", "wait", "keep"}
    assert found["train"] / n_updates == pytest.approx(1200 / 16_201, abs=0.05)
    assert sum(found.values()) == n_updates


def test_weight_spread_is_measured_late_in_tuning():
    phase = MILE(warmup=1000).phase(1300, Plan(MILE(warmup=1000).updates(Plan(100, 1)), 1))
    assert phase == Phase("tune", first=1202, middle=2002, last=2101)


@pytest.fixture
def full(batches):
    batch = batches(1, 12)
    return Batch(batch.x, batch.y, torch.ones_like(batch.y))


def trained(problem, batch, count: int, seed: int = 0):
    problem.hparams.lr = 0.05 * ONE
    method, noise = MILE(draws=5), LiveNoise(torch.Generator().manual_seed(seed), torch.float64)
    state, path = method.init(problem, noise), []
    for number in range(1, count + 1):
        phase = Phase("train", 1, 0, count)
        state = method.update(problem, state, batch, noise, Step(number * ONE, phase))
        path.append(state.chain.weights)
    return state, path


def held_out_nll(problem, batch, weights) -> float:
    """The mean NLL of the last two of twelve rows: 15 %, rounded up."""
    return float(problem.nll(weights, Batch(batch.x[:, 10:], batch.y[:, 10:])))


def test_first_update_is_adam_on_training_rows(problem, full):
    state, _ = trained(problem, full, 1)
    method = MILE(draws=5)
    before = method.init(problem, LiveNoise(torch.Generator().manual_seed(0), torch.float64)).chain.weights
    leaf = before.clone().requires_grad_()
    problem.nll(leaf, Batch(full.x[:, :10], full.y[:, :10])).backward()
    expected = before - 0.05 * leaf.grad / (leaf.grad.abs() + 1e-8) - 0.05 * 1e-4 * before
    assert state.chain.weights.tolist() == pytest.approx(expected.tolist(), abs=1e-7)


def test_early_stopping_keeps_the_best_held_out_weights(problem, full):
    state, path = trained(problem, full, 400)
    scores = [held_out_nll(problem, full, weights) for weights in path]
    best, waited, at = np.inf, 0, 0
    for number, score in enumerate(scores):  # early stopping, written as a loop
        if waited >= 20:
            break
        best, waited, at = (score, 0, number) if score < best else (best, waited + 1, at)
    assert number < 399
    assert float(state.best_nll) == pytest.approx(best)
    assert torch.equal(state.best, path[at])


def test_padded_rows_do_not_affect_mile(problem, full):
    padded = Batch(
        torch.cat([full.x, 100 + full.x[:, :3]], dim=1),
        torch.cat([full.y, full.y[:, :3]], dim=1),
        torch.cat([full.present, torch.zeros_like(full.y[:, :3])], dim=1),
    )
    states = [trained(problem, batch, 5)[0] for batch in (full, padded)]
    assert states[0].best.tolist() == pytest.approx(states[1].best.tolist())
    weights = states[0].best
    assert float(problem.log_posterior(weights, full)) == pytest.approx(float(problem.log_posterior(weights, padded)))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        pytest.param({}, 0.16, marks=pytest.mark.slow),
        ({"first_error": 5e-4, "last_error": 5e-4}, 0.05),
    ],
)
def test_chains_sample_the_exact_linear_posterior(options, error):
    """The published energy error leaves a bias in three dimensions, which smaller steps take away."""
    problem = strong_prior(0, dim=3)
    fits = problem.fit(MILE(warmup=1000, draws=1000, thinning=20, **options), 200, 10, range(4), lr=3e-3)
    draws = problem.weight_samples(fits, 4 * 1000).reshape(-1, 3)
    exact = problem.posterior()
    assert draws.mean(0) == pytest.approx(exact.mean, abs=0.1 * np.sqrt(np.diag(exact.covariance)).min())
    assert np.cov(draws.T) == pytest.approx(exact.covariance, rel=error, abs=error / 2 * exact.covariance.max())
