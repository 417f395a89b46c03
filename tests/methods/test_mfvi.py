"""Mean-field VI against autograd of the written objective and mean-field theory."""

import numpy as np
import torch
from torch.func import grad

from bench.conjugate import correlated
from methods.mfvi import MeanFieldVI, State
from methods.noise import Noise
from methods.optim import SGD
from methods.problem import Step


def test_an_update_follows_the_gradient_of_the_negative_elbo(problem, hparams, batches):
    generator = torch.Generator().manual_seed(0)
    params = 0.3 * torch.randn(2, problem.dim, generator=generator, dtype=torch.float64)
    unit = torch.randn(problem.dim, generator=generator, dtype=torch.float64)
    batch = batches(1)

    def negative_elbo(params):
        mean, sd = params[0], params[1].exp()
        q = torch.distributions.Normal(mean, sd)
        prior = torch.distributions.Normal(torch.zeros_like(mean), hparams.prior_precision**-0.5)
        kl = torch.distributions.kl_divergence(q, prior).sum()
        return problem.n_train * problem.mean_nll(mean + sd * unit, batch, hparams) + kl

    step = Step(torch.tensor(1.0), None)
    after = MeanFieldVI().update(problem, State(params, SGD()), batch, hparams, Noise(unit), step).params
    torch.testing.assert_close(after, params - hparams.lr * grad(negative_elbo)(params))


def test_variances_are_the_reciprocal_diagonal_of_the_exact_precision():
    # For a correlated posterior mean-field VI keeps the mean and underestimates variances: Bishop 2006, section 10.1.2.
    problem = correlated(seed=1, n_rows=200, alpha=1.0, beta=1.0)
    exact = problem.posterior()
    stack = problem.fit(MeanFieldVI(), lr=0.005, updates=6000, batch_size=100, seeds=range(12))
    mean, log_sd = stack.posterior.mean(0).numpy()
    mean_field_sd = np.diag(np.linalg.inv(exact.covariance)) ** -0.5
    assert np.abs(np.exp(log_sd) / mean_field_sd - 1).max() < 0.1
    assert (mean_field_sd / np.sqrt(np.diag(exact.covariance))).max() < 0.9  # so that the bound above can tell
    assert (np.abs(mean - exact.mean) / mean_field_sd).max() < 0.25
