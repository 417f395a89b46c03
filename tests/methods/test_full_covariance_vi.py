"""Full-covariance VI against dense Gaussians and the exact posterior of linear regression."""

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence
from torch.func import grad, jacrev

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.full_covariance_vi import FullCovarianceVI, FullCovarianceVIState, kl, parts, transform
from lockstep_bench.methods.maths.likelihoods import Bernoulli
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Step, Task
from lockstep_bench.methods.training.optim import SGD

FIRST = Step(torch.tensor(1.0), None)


def started(problem) -> torch.Tensor:
    """Parameters near the start, with correlations."""
    params = FullCovarianceVI().init(problem, NoiseGauge(torch.float64)).params
    return params + 0.1 * torch.randn(len(params), generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def unit(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_kl_equals_that_of_dense_gaussians(problem, hparams):
    params, alpha = started(problem), hparams.prior_precision
    mean, covariance = FullCovarianceVI().moments(problem, params)
    prior = MultivariateNormal(torch.zeros_like(mean), precision_matrix=alpha * torch.eye(len(mean)).double())
    dense = kl_divergence(MultivariateNormal(mean, covariance), prior)
    torch.testing.assert_close(kl(*parts(problem.network, params), alpha), dense)


def test_weight_samples_have_the_variational_mean_and_covariance(problem):
    params = started(problem)
    mean, covariance = FullCovarianceVI().moments(problem, params)
    to_sample = jacrev(lambda noise: transform(*parts(problem.network, params), noise[None])[0])(unit(problem.dim))
    torch.testing.assert_close(to_sample @ to_sample.T, covariance)
    silent = Noise(torch.zeros(problem.dim, dtype=torch.float64))
    torch.testing.assert_close(FullCovarianceVI().sample(problem, params, silent, 1)[0], mean)


def test_update_follows_gradient_of_negative_elbo(problem, hparams, batches):
    params, batch, noise = started(problem), batches(1), unit(problem.dim)

    def negative_elbo(params):
        mean, factors = parts(problem.network, params)
        (weights,) = transform(mean, factors, noise[None])
        return problem.n_train * problem.nll(weights, batch) + kl(mean, factors, hparams.prior_precision)

    after = (
        FullCovarianceVI().update(problem, FullCovarianceVIState(params, SGD()), batch, Noise(noise), FIRST)[0].params
    )
    torch.testing.assert_close(after, params - hparams.lr * grad(negative_elbo)(params))


def test_linear_regression_recovers_the_full_covariance():
    problem = correlated(0, n_rows=60)
    exact = problem.posterior()
    correlation = exact.covariance[0, 1] / np.sqrt(exact.covariance[0, 0] * exact.covariance[1, 1])
    assert abs(correlation) > 0.4  # which no factorised Gaussian has
    stack = problem.fit(FullCovarianceVI(), lr=0.01, updates=3000, batch_size=60, seeds=range(8))
    means, covariances = zip(*(map(np.asarray, moments) for moments in stack.moments()), strict=True)
    np.testing.assert_allclose(np.mean(means, axis=0), exact.mean, atol=0.1 * np.sqrt(exact.covariance.max()))
    np.testing.assert_allclose(np.mean(covariances, axis=0), exact.covariance, atol=0.05 * exact.covariance.max())


@pytest.mark.parametrize(("n_inputs", "excluded"), [(10, False), (50, True)])
def test_networks_with_large_layers_are_excluded(n_inputs, excluded):
    reason = FullCovarianceVI().excludes(Task("any", Bernoulli(), MLP(n_inputs, (50,))))
    assert ("covariance of a layer of 2,550" in (reason or "")) == excluded
