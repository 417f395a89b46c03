"""IVON against its authors' package, and against mean-field theory."""

import math

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.ivon import IVON
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.problem import Step

UPDATES = 6


@pytest.mark.parametrize("clip_radius", [0.01, math.inf])
def test_ivon_updates_equal_the_authors_package(problem, hparams, batches, clip_radius):
    package = pytest.importorskip("ivon")
    hparams.hess_init = torch.tensor(0.8, dtype=torch.float64)
    method = IVON(clip_radius=clip_radius)
    state = method.init(problem, NoiseGauge(torch.float64))
    weights = torch.nn.Parameter(state.mean.clone())
    n_train = float(problem.n_train)
    decay = float(hparams.prior_precision) / n_train
    settings = {"beta2": 0.999, "weight_decay": decay, "clip_radius": clip_radius, "rescale_lr": False}
    theirs = package.IVON([weights], float(hparams.lr), n_train, 0.8, **settings)
    batch = batches(1)
    for count in range(1, UPDATES + 1):
        torch.manual_seed(count)
        unit = torch.randn(problem.dim, dtype=torch.float64)
        step = Step(torch.tensor(float(count), dtype=torch.float64), None)
        state, _ = method.update(problem, state, batch, Noise(unit), step)
        torch.manual_seed(count)  # of which the package draws the same numbers
        with theirs.sampled_params(train=True):
            theirs.zero_grad()
            problem.nll(weights, batch).backward()
        theirs.step()
    (group,) = theirs.param_groups
    torch.testing.assert_close(state.mean, weights.detach())
    torch.testing.assert_close(state.gradient, group["momentum"])
    torch.testing.assert_close(state.hessian, group["hess"])


def test_update_follows_the_documented_equations(problem, hparams, batches):
    hparams.hess_init = torch.tensor(0.8, dtype=torch.float64)
    batch, (n, alpha, lr) = batches(1), (problem.n_train, hparams.prior_precision, hparams.lr)
    before = IVON().init(problem, NoiseGauge(torch.float64))
    unit = torch.randn(problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    sd = 1 / (n * before.hessian + alpha) ** 0.5
    weights = (before.mean + sd * unit).requires_grad_()
    (g,) = torch.autograd.grad(problem.nll(weights, batch), weights)
    noisy, kept = g * unit / sd, before.hessian
    h = 0.999 * kept + 0.001 * noisy + 0.5e-6 * (kept - noisy) ** 2 / (kept + alpha / n)
    after, _ = IVON().update(problem, before, batch, Noise(unit), Step(torch.tensor(1.0), None))
    torch.testing.assert_close(after.gradient, 0.1 * g)
    torch.testing.assert_close(after.hessian, h)
    newton = (g + alpha / n * before.mean) / (h + alpha / n)
    assert 0 < (newton.abs() > 0.1).sum() < problem.dim  # so that the limit of a step's coordinates matters
    expected = before.mean - lr * newton.clamp(-0.1, 0.1)
    torch.testing.assert_close(after.mean, expected, rtol=1e-6, atol=1e-6)


def test_variances_are_the_reciprocal_diagonal_of_the_exact_precision():
    # Mean-field theory: Bishop 2006, section 10.1.2.
    problem = correlated(seed=1, n_rows=200, alpha=1.0, beta=1.0)
    exact = problem.posterior()
    stack = problem.fit(IVON(), lr=0.02, hess_init=3.0, updates=8000, batch_size=200, seeds=range(12))
    mean, log_sd = stack.posterior.mean(0).numpy()
    mean_field_sd = np.diag(np.linalg.inv(exact.covariance)) ** -0.5
    assert np.abs(np.exp(log_sd) / mean_field_sd - 1).max() < 0.05
    assert (mean_field_sd / np.sqrt(np.diag(exact.covariance))).max() < 0.9  # so that the bound above can tell
    assert (np.abs(mean - exact.mean) / mean_field_sd).max() < 0.1
