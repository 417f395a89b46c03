"""Collapsed penalties against numerical integration over the prior's parameters.

By Gibbs' variational principle the minimum of E_q[f] + KL(q || p) over q is -log E_p[exp(-f)], attained at
q = p exp(-f) / Z. A penalty that equals this integral therefore contains the optimal q(phi).
"""

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import invgamma, norm
from torch.distributions import Normal, kl_divergence

from lockstep_bench.methods.maths.priors import (
    EmpiricalBayes,
    Fixed,
    LearnedMean,
    LearnedMeanAndVariance,
    averaged,
    unshared,
)

MEANS = np.array([[0.7, -2.0, 0.1], [1.5, 0.3, -0.4], [-0.2, 1.1, 2.5], [0.0, 0.6, -1.0]])  # (M, K)
SDS = np.array([[0.4, 1.3, 0.02], [0.9, 0.1, 0.6], [0.3, 2.0, 0.5], [1.0, 0.7, 0.2]])
GRID = np.linspace(-25, 25, 8001)  # of a prior mean
LOG_VARIANCES = np.linspace(-12, 14, 2601)


def divergence(mean, sd, centre, variance):
    """KL(N(mean, sd^2) || N(centre, variance)), arrays."""
    return 0.5 * ((sd**2 + (mean - centre) ** 2) / variance - 1 + np.log(variance)) - np.log(sd)


def log_integral(log_density, grid):
    """log of the integral over the last axis."""
    highest = log_density.max(-1, keepdims=True)
    return np.log(trapezoid(np.exp(log_density - highest), grid)) + highest[..., 0]


def penalty(prior, share=unshared):
    return prior.penalty(torch.tensor(MEANS), torch.tensor(SDS), share).numpy()


def test_fixed_prior_penalty_is_the_kl_divergence():
    expected = kl_divergence(Normal(torch.tensor(MEANS), torch.tensor(SDS)), Normal(0.0, 0.1**0.5)).sum(-1)
    np.testing.assert_allclose(penalty(Fixed(0.1)), expected)


@pytest.mark.parametrize(
    ("share", "groups"), [(unshared, MEANS[:, None]), (averaged, MEANS[None])], ids=["unshared", "shared"]
)
def test_learned_prior_mean_penalty_equals_numerical_integral(share, groups):
    gamma, alpha = 0.3, 5.7  # alpha_reg = 0.05
    sds = SDS.reshape(groups.shape)
    every = divergence(groups[..., None], sds[..., None], GRID, gamma)  # (group, M', K, grid)
    bound = -log_integral(norm.logpdf(GRID, scale=alpha**0.5) - every.mean(1), GRID).sum(-1)
    np.testing.assert_allclose(penalty(LearnedMean(gamma, 0.05), share).reshape(sds.shape[:2]).mean(1), bound)

    # The two integrals of the bound at the posterior that the papers give, one after the other.
    posterior = norm(alpha / (alpha + gamma) * groups.mean(1)[..., None], (alpha * gamma / (alpha + gamma)) ** 0.5)
    density, log_density = posterior.pdf(GRID), posterior.logpdf(GRID)
    expected = trapezoid(density * every.mean(1), GRID)
    hyper = trapezoid(density * (log_density - norm.logpdf(GRID, scale=alpha**0.5)), GRID)
    np.testing.assert_allclose((expected + hyper).sum(-1), bound)


def test_learned_prior_mean_and_variance_penalty_equals_integral():
    alpha, beta, delta = 0.5, 0.01, 0.1
    t = delta / (1 - delta)
    variances = np.exp(LOG_VARIANCES)
    prior_of_log_variance = invgamma.logpdf(variances, alpha, scale=beta) + LOG_VARIANCES
    given_variance = np.empty((*MEANS.shape, len(variances)))  # log int p(m | v) exp(-KL) dm
    for index in np.ndindex(*MEANS.shape):
        # The integrand is a Gaussian in m of standard deviation sqrt(v / (t + 1)): a grid in units of it.
        centre, width = MEANS[index] / (t + 1), (variances / (t + 1)) ** 0.5
        m = centre + width * np.linspace(-10, 10, 801)[:, None]
        log_density = norm.logpdf(m, scale=(variances / t) ** 0.5) - divergence(MEANS[index], SDS[index], m, variances)
        given_variance[index] = logsumexp(log_density, axis=0) + np.log(width * 20 / 800)
    prior = LearnedMeanAndVariance(alpha, beta, delta)
    each = -log_integral(prior_of_log_variance + given_variance, LOG_VARIANCES).sum(-1)
    np.testing.assert_allclose(penalty(prior), each, rtol=1e-4)
    together = -log_integral(prior_of_log_variance + given_variance.mean(0), LOG_VARIANCES).sum()
    np.testing.assert_allclose(penalty(prior, averaged).mean(), together, rtol=1e-4)


@pytest.mark.parametrize("share", [unshared, averaged])
def test_empirical_bayes_penalty_is_kl_at_optimal_variance(share):
    alpha, beta = 4.4798, 10.0
    groups = range(len(MEANS)) if share is unshared else [slice(None)]
    found = []
    for group in groups:
        mean, sd = np.atleast_2d(MEANS[group]), np.atleast_2d(SDS[group])

        def charged(log_s, mean=mean, sd=sd):
            s = np.exp(log_s)
            return divergence(mean, sd, 0, s).sum(-1).mean() - invgamma.logpdf(s, alpha, scale=beta)

        best = np.exp(minimize_scalar(charged, bounds=(-5, 5), options={"xatol": 1e-10}).x)
        found.extend(divergence(mean, sd, 0, best).sum(-1))
    np.testing.assert_allclose(penalty(EmpiricalBayes(alpha, beta), share), found, rtol=1e-6)
