"""True posteriors against closed forms and against numbers that another way of computing them gives."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import expit
from sklearn.linear_model import BayesianRidge

from lockstep_bench.bench.reference.posterior import exact, grid
from lockstep_bench.bench.reference.problem import Part, linear_part, maximal_evidence
from lockstep_bench.datasets import Dataset, Source, Split
from lockstep_bench.datasets.records import Model
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian
from lockstep_bench.methods.networks.mlp import MLP


def regression(seed: int = 0, n_rows: int = 50, dim: int = 3) -> Part:
    generator = np.random.default_rng(seed)
    x, y = generator.standard_normal((n_rows, dim)), generator.standard_normal(n_rows)
    return Part(x, y, MLP(dim, hidden=(), bias=False), Gaussian((2.0, 2.0)), 0.5, 2.0, 1.0)


def classification(n_rows: int = 30) -> Part:
    generator = np.random.default_rng(3)
    x = generator.standard_normal((n_rows, 2))
    y = (generator.uniform(size=n_rows) < expit(x @ [2.0, -1.0])).astype(float)
    return Part(x, y, MLP(2, hidden=(), bias=False), Bernoulli(), 0.3, None, 1.0)


def source(n_features: int, model: Model) -> Source:
    return Source(
        name="any",
        title="Any",
        n_rows=40,
        n_features=n_features,
        n_splits=1,
        origin="",
        licence="",
        read=lambda contents: None,
        model=model,
    )


def test_linear_posterior_equals_ridge_and_draws_match_moments():
    part = regression()
    truth = exact(part, seed=0)
    augmented = np.concatenate([part.x * 2.0**0.5, 0.5**0.5 * np.eye(3)])
    ridge = np.linalg.lstsq(augmented, np.concatenate([part.y * 2.0**0.5, np.zeros(3)]), rcond=None)[0]
    np.testing.assert_allclose(truth.mean, ridge)
    np.testing.assert_allclose(np.linalg.inv(truth.covariance), augmented.T @ augmented)
    errors = np.sqrt(np.diag(truth.covariance) / len(truth.draws))
    assert np.all(np.abs(truth.draws.mean(0) - truth.mean) < 4 * errors)
    np.testing.assert_allclose(np.cov(truth.draws.T), truth.covariance, atol=0.15 * truth.covariance.max())


def test_posterior_with_bias_equals_bayesian_ridge():
    generator = np.random.default_rng(0)
    x, y = generator.uniform(2, 5, (40, 3)), 7 + generator.standard_normal(40)
    rows = np.arange(0, 40, 2)
    part = linear_part(source(3, Model(None, None, bias=True)), Dataset("any", x, y, (Split(rows, rows + 1),)), rows)
    truth = exact(part, seed=0)
    scaled = (x[rows] - x[rows].mean(0)) / x[rows].std(0)
    ridge = BayesianRidge().fit(scaled, y[rows])
    assert part.hparams == {"prior_precision": ridge.lambda_, "noise_precision": ridge.alpha_}
    np.testing.assert_allclose(truth.mean, [*ridge.coef_, ridge.intercept_], rtol=1e-8)
    np.testing.assert_allclose(truth.covariance[:-1, :-1], ridge.sigma_, rtol=1e-8)
    assert truth.covariance[-1, -1] == pytest.approx(1 / (len(rows) * ridge.alpha_))
    np.testing.assert_allclose(truth.covariance[-1, :-1], 0, atol=1e-12)


def test_grid_posterior_agrees_with_adaptive_quadrature():
    part = classification()
    truth = grid(part, seed=0)

    def density(b: float, a: float) -> float:
        logits = part.x @ [a, b]
        log_likelihood = part.y @ logits - np.logaddexp(0, logits).sum()
        return np.exp(log_likelihood - 0.15 * (a * a + b * b) + 20)

    box = (-6, 14, -10, 8)
    total = dblquad(density, *box)[0]
    mean = [dblquad(lambda b, a, k=k: (a, b)[k] * density(b, a), *box)[0] / total for k in range(2)]
    np.testing.assert_allclose(truth.mean, mean, rtol=1e-5)
    for i, j in ((0, 0), (0, 1), (1, 1)):

        def product(b: float, a: float, i: int = i, j: int = j) -> float:
            deviations = a - mean[0], b - mean[1]
            return deviations[i] * deviations[j] * density(b, a)

        assert truth.covariance[i, j] == pytest.approx(dblquad(product, *box)[0] / total, rel=1e-4)
    np.testing.assert_allclose(np.cov(truth.draws.T), truth.covariance, atol=0.15 * truth.covariance.max())


def test_maximum_evidence_precisions_solve_mackays_equations():
    generator = np.random.default_rng(1)
    x = generator.standard_normal((400, 4))
    y = x @ [1.0, -2.0, 0.5, 1.5] + 0.5 * generator.standard_normal(400)
    x, y = x - x.mean(0), y - y.mean()
    alpha, beta = maximal_evidence(x, y)
    covariance = np.linalg.inv(alpha * np.eye(4) + beta * x.T @ x)
    mean = beta * covariance @ x.T @ y
    determined = 4 - alpha * np.trace(covariance)
    assert alpha == pytest.approx(determined / (mean @ mean), rel=1e-2)
    assert beta == pytest.approx((400 - determined) / np.sum((y - x @ mean) ** 2), rel=1e-2)


@pytest.mark.parametrize("standardise", [False, True])
def test_each_half_of_the_data_is_standardised_separately(standardise):
    generator = np.random.default_rng(2)
    x, y = 3 + 2 * generator.standard_normal((40, 2)), 7 + generator.standard_normal(40)
    rows = np.arange(25)
    model = Model(0.5, 2.0, standardise=standardise)
    part = linear_part(source(2, model), Dataset("any", x, y, (Split(rows, np.arange(25, 40)),)), rows)
    assert part.hparams == {"prior_precision": 0.5, "noise_precision": 2.0}
    if standardise:
        np.testing.assert_allclose([part.x.mean(0), part.x.std(0)], [[0, 0], [1, 1]], atol=1e-12)
        np.testing.assert_allclose([part.y.mean(), part.y.std()], [0, y[:25].std()], atol=1e-12)
    else:
        np.testing.assert_array_equal(part.x, x[:25])
        np.testing.assert_array_equal(part.y, y[:25])
