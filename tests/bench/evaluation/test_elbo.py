"""The estimated ELBO against the exact evidence of Bayesian linear regression."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from lockstep_bench import methods
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.evaluation.elbo import with_elbos
from lockstep_bench.bench.reference.conjugate import LinearProblem, orthogonal
from lockstep_bench.methods.maths.gaussian import LowRankNormal
from lockstep_bench.methods.variational_laplace import VariationalLaplacePosterior

N_SAMPLES = 100


def log_evidence(problem: LinearProblem) -> float:
    """Return log p(y) of a linear model, (), nats: y ~ N(0, X X^T / alpha + I / beta)."""
    covariance = problem.x @ problem.x.T / problem.alpha + np.eye(len(problem.x)) / problem.beta
    return float(multivariate_normal(np.zeros(len(covariance)), covariance).logpdf(problem.y))


def fits_with(problem: LinearProblem, name: str, mean: np.ndarray, sd: np.ndarray, n_fits: int) -> StackedFits:
    """Return fits whose posterior is N(mean, diag(sd^2)), for mean and sd (D,)."""
    method = methods.get(name)
    fits = problem.fit(method, 1, len(problem.x), range(n_fits), "eager", torch.float64, lr=0.01)
    moments = torch.tensor(np.stack([mean, sd])).expand(n_fits, -1, -1)
    params = torch.stack([moments[:, 0], moments[:, 1].log()], dim=1)
    posteriors = {
        "mfvi": params,
        "variational-laplace": VariationalLaplacePosterior(params, params.new_zeros(n_fits)),
        "vifa": LowRankNormal(moments[:, 0], moments.new_zeros(n_fits, 1, len(mean)), moments[:, 1] ** 2),
    }
    return replace(fits, posterior=posteriors[method.name.partition("(")[0]])


def elbos(problem: LinearProblem, fits: StackedFits) -> np.ndarray:
    """Return the estimate of each fit times N, nats."""
    reported = with_elbos(fits.diagnostics(), fits, fits.stack.data, N_SAMPLES)
    return len(problem.x) * np.array([values["elbo"] for values in reported])


@pytest.mark.parametrize(
    "name", ["mfvi", "mfvi(mean_network=true)", "variational-laplace", "variational-laplace(mean_network=true)", "vifa"]
)
def test_elbo_of_the_exact_posterior_is_the_log_evidence(name):
    problem = orthogonal(0)
    exact = problem.posterior()
    found = elbos(problem, fits_with(problem, name, exact.mean, np.diag(exact.covariance) ** 0.5, 64))
    stderr = found.std(ddof=1) / len(found) ** 0.5
    assert abs(found.mean() - log_evidence(problem)) < 4 * stderr
    assert stderr < 0.05


def test_elbo_gap_is_kl_to_the_exact_posterior():
    problem = orthogonal(0)
    exact = problem.posterior()
    sd = np.diag(exact.covariance) ** 0.5
    found = elbos(problem, fits_with(problem, "mfvi", exact.mean + sd, 2 * sd, 256))
    # Per weight KL(N(m + s, 4 s^2) || N(m, s^2)) = (1 + 4 - 1) / 2 - log 2.
    divergence = problem.x.shape[1] * (2 - np.log(2))
    assert abs(found.mean() - log_evidence(problem) + divergence) < 4 * found.std(ddof=1) / len(found) ** 0.5


def test_tempered_elbo_weights_the_kl_term():
    problem = orthogonal(0)
    fits = fits_with(problem, "mfvi(tempering=0.25)", np.zeros(3), np.ones(3), 1)
    (values,) = with_elbos(fits.diagnostics(), fits, fits.stack.data, N_SAMPLES)
    assert values["tempered_elbo"] - values["elbo"] == pytest.approx(0.75 * values["kl"])


def test_methods_without_a_kl_term_have_no_elbo():
    problem = orthogonal(0)
    fits = problem.fit(methods.get("map"), 1, 10, lr=0.01)
    assert with_elbos(fits.diagnostics(), fits, fits.stack.data, N_SAMPLES) == [{}]
