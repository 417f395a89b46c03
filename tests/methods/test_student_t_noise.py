"""Methods with Student-t noise, against the posterior of two weights on a grid; and who refuses it."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import minimize

from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.catalogue.rows import rows
from lockstep_bench.methods.hmc import HMC
from lockstep_bench.methods.laplace import FullLaplace
from lockstep_bench.methods.leapfrog import Leapfrog
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import StudentTNoise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

ALPHA, BETA, DF = 0.5, 4.0, 3.0
TASK = Task("two weights", StudentTNoise((BETA, BETA)), MLP(2, hidden=(), bias=False))
HPARAMS = {"prior_precision": ALPHA, "noise_precision": BETA, "noise_df": DF}
# Two of the twelve targets are outliers, so that the posterior is not Gaussian.
X = np.random.default_rng(0).multivariate_normal(np.zeros(2), [[1, 0.6], [0.6, 1]], 12)
Y = X @ [1.0, -0.5] + 0.3 * np.random.default_rng(1).standard_normal(12) + np.array([4.0, -6.0] + [0.0] * 10)


class Moments(NamedTuple):
    """Mean (2,) and covariance (2, 2) of the weights."""

    mean: np.ndarray
    covariance: np.ndarray


def log_posterior(weights: np.ndarray) -> np.ndarray:
    """log p(weights | X, Y) up to a constant, of weights (..., 2)."""
    data = stats.t.logpdf(Y, DF, weights @ X.T, BETA**-0.5).sum(-1)
    return data - ALPHA / 2 * (weights**2).sum(-1)


@pytest.fixture(scope="module")
def exact() -> Moments:
    """The moments of the posterior, by a grid of 400 times 400 weights that holds all its mass."""
    axis = np.linspace(-3, 3, 400)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    logs = log_posterior(grid)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    edge = (np.abs(grid) > 2.9).any(1)
    assert mass[edge].sum() < 1e-6
    mean = mass @ grid
    return Moments(mean, (mass[:, None] * (grid - mean)).T @ (grid - mean))


def fitted(method, updates: int, lr: float, seeds: int = 1) -> StackedFits:
    """Fits to all rows without standardisation, whose data also hold the unit vectors."""
    data = Data.of(np.concatenate([X, np.eye(2)]), np.concatenate([Y, np.zeros(2)]))
    fits = [Fit(np.arange(12), HPARAMS | {"lr": lr}, seed) for seed in range(seeds)]
    schedule = Schedule.of(method, 12, 12, updates, updates)
    return train_stacked(method, TASK, data, fits, schedule, standardise=False, stacked=method.stackable)


def weights_of(stack: StackedFits, n_samples: int) -> np.ndarray:
    """Samples (B S, 2) of the weights, from predictions at the unit vectors."""
    predictives = stack.predict([np.array([12, 13])] * len(stack.fits), n_samples)
    return np.concatenate([predictive.location.double().numpy() for predictive in predictives])


def agree(draws: np.ndarray, exact: Moments, error: float) -> None:
    sd = np.sqrt(np.diag(exact.covariance))
    assert draws.mean(0) == pytest.approx(exact.mean, abs=error * sd.min())
    assert np.cov(draws.T) == pytest.approx(exact.covariance, abs=error * sd.min() ** 2)


def test_leapfrog_hmc_matches_the_grid_posterior(exact):
    stack = fitted(Leapfrog(warmup=100, draws=500, steps=16), 200, 3e-3, seeds=4)
    assert stack.execution == "native"
    agree(weights_of(stack, 2000), exact, 0.1)


@pytest.mark.slow
def test_nuts_matches_the_grid_posterior(exact):
    pytest.importorskip("numpyro")
    agree(weights_of(fitted(HMC(chains=8), 400, 3e-3), 500), exact, 0.15)


@pytest.fixture(scope="module")
def mode() -> np.ndarray:
    return minimize(lambda weights: -log_posterior(weights), np.zeros(2), tol=1e-10).x


def test_map_finds_the_posterior_mode(mode):
    found = weights_of(fitted(MAP(), 3000, 0.003), 1)[0]
    assert found == pytest.approx(mode, abs=1e-3)
    least_squares = np.linalg.solve(X.T @ X + ALPHA / BETA * np.eye(2), X.T @ Y)
    assert np.linalg.norm(mode - [1.0, -0.5]) < 0.1 < np.linalg.norm(least_squares - [1.0, -0.5])


def test_laplace_uses_mode_and_fisher_information(mode):
    ((mean, covariance),) = fitted(FullLaplace(), 3000, 0.003).moments()
    assert mean.tolist() == pytest.approx(mode, abs=1e-3)
    precision = ALPHA * np.eye(2) + (DF + 1) / (DF + 3) * BETA * X.T @ X
    np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=1e-4)


def test_predictive_includes_student_t_noise_in_original_units():
    data = Data.of(X, 10 * Y + 3)
    fits = [Fit(np.arange(12), HPARAMS | {"lr": 0.01, "noise_precision": BETA / 100}, 0)]
    stack = train_stacked(MAP(), TASK, data, fits, Schedule.of(MAP(), 12, 12, 100, 100))
    (predictive,) = stack.predict([np.arange(12)], 5)
    assert predictive.df.shape == predictive.location.shape == predictive.scale.shape == (1, 12)
    assert predictive.df.unique().item() == DF
    assert predictive.scale.unique().item() == pytest.approx(10 * BETA**-0.5)


# They predict distributions of their own, are Gaussian by construction, or find the noise precision in closed form.
REFUSING = {"linear", "gp", "gp-matern", "vbll", "beta-nll", "evidential", "quantile", "mdn"}
FAMILIES = {"lines", "laplace_marglik"}


@pytest.mark.parametrize("name", methods.names())
def test_methods_without_student_t_noise_refuse_it(name):
    reason = methods.get(name).excludes(Task("any", StudentTNoise((1.0, 1.0)), MLP(2, (3,))))
    refuses = name in REFUSING or name.startswith("directuq") or rows()[name].family in FAMILIES
    assert reason == ("no student-t likelihood" if refuses else None)


def test_student_t_updates_do_not_depend_on_the_stack():
    together = weights_of(fitted(MAP(), 300, 0.01, seeds=3), 1)
    assert torch.equal(*(torch.tensor(each[:1]) for each in (together, weights_of(fitted(MAP(), 300, 0.01), 1))))
