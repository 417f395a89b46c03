"""Bayesian linear regression against scikit-learn's, a dense computation of the evidence, and degenerate data."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import minimize
from sklearn.linear_model import BayesianRidge

from lockstep_bench.methods.linear import Linear

UNITS = SimpleNamespace(y_mean=torch.tensor(5.0), y_scale=torch.tensor(2.0))


def data(n: int = 60, seed: int = 0, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated inputs (n, 4) with unequal coefficients, and centred targets (n,)."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, 4)) @ (np.eye(4) + 0.5)
    y = x @ [1.0, -0.5, 0.1, 0.0] + noise * generator.standard_normal(n)
    return x - x.mean(0), y - y.mean()


def fit(x: np.ndarray, y: np.ndarray):
    return Linear().fit(UNITS, torch.tensor(x), torch.tensor(y), 0)


def predict(posterior, x: np.ndarray):
    return Linear().predict(UNITS, posterior, torch.tensor(x), None, 1)


@pytest.mark.parametrize("seed", range(3))
def test_linear_model_equals_scikit_learns_bayesian_ridge(seed):
    x, y = data(seed=seed)
    at = np.random.default_rng(9).standard_normal((20, 4))
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0)  # no priors of the precisions
    theirs = BayesianRidge(fit_intercept=False, max_iter=10_000, tol=1e-12, **flat).fit(x, y)
    ours = fit(x, y)
    assert ours.prior_precision.item() == pytest.approx(theirs.lambda_, rel=1e-3)
    assert ours.noise_precision.item() == pytest.approx(theirs.alpha_, rel=1e-3)
    mean, sd = theirs.predict(at, return_std=True)
    predictive = predict(ours, at)
    np.testing.assert_allclose(predictive.mean[0], 5 + 2 * mean, rtol=1e-4)
    np.testing.assert_allclose(predictive.variance[0], 4 * sd**2, rtol=1e-4)


def test_precisions_maximise_the_dense_evidence():
    x, y = data(n=25)

    def loss(logs: np.ndarray) -> float:
        covariance = np.eye(25) / np.exp(logs[1]) + x @ x.T / np.exp(logs[0])
        return -stats.multivariate_normal.logpdf(y, cov=covariance)

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    ours = fit(x, y)
    np.testing.assert_allclose([ours.prior_precision, ours.noise_precision], np.exp(best), rtol=1e-4)


def test_linear_diagnostics_are_in_original_units():
    posterior = fit(*data())
    reported = Linear().diagnostics(UNITS, posterior)
    assert reported["noise_precision"] == pytest.approx(posterior.noise_precision / 4)


def test_constant_and_repeated_inputs_change_no_prediction():
    x, y = data()
    at = np.random.default_rng(9).standard_normal((20, 4))
    zeros, zeros_at = np.zeros((60, 1)), np.zeros((20, 1))
    plain, wider = predict(fit(x, y), at), predict(fit(np.hstack([x, zeros]), y), np.hstack([at, zeros_at]))
    torch.testing.assert_close(wider.mean, plain.mean)
    torch.testing.assert_close(wider.variance, plain.variance)
    # Weights of a column and its copy have the sum of one weight whose prior is twice as wide.
    doubled, scaled = np.hstack([x, x]), np.sqrt(2) * x
    torch.testing.assert_close(
        predict(fit(doubled, y), np.hstack([at, at])).variance, predict(fit(scaled, y), np.sqrt(2) * at).variance
    )


def test_noise_free_linear_targets_are_fitted_exactly():
    x, y = data(noise=0.0)
    posterior = fit(x, y)
    np.testing.assert_allclose(posterior.mean, [1.0, -0.5, 0.1, 0.0], atol=1e-8)
    predictive = predict(posterior, x)
    np.testing.assert_allclose(predictive.mean[0], 5 + 2 * y, atol=1e-7)
    assert 0 < predictive.variance.min() < predictive.variance.max() < 1e-8


def test_small_noise_gives_least_squares_limits():
    """With a weak prior, the mean is that of least squares, and the noise's variance is |y - X m|^2 / (N - P)."""
    x, y = data(noise=1e-3)
    posterior, (weights, squares, *_) = fit(x, y), np.linalg.lstsq(x, y)
    np.testing.assert_allclose(predict(posterior, x).mean[0], 5 + 2 * x @ weights, atol=1e-6)
    assert posterior.noise_precision.item() == pytest.approx((60 - 4) / squares.item(), rel=1e-4)


@pytest.mark.parametrize(("n_rows", "scale"), [(3, 1.0), (60, 0.0)])
def test_few_rows_and_constant_targets_give_finite_predictions(n_rows, scale):
    x, y = data(n=n_rows)
    predictive = predict(fit(x, scale * y), x)
    assert predictive.mean.isfinite().all()
    assert predictive.variance.isfinite().all()
    assert (predictive.variance > 0).all()
