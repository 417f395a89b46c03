"""Variational Bayesian last layers against the authors' package, a Gaussian expectation and the exact posterior."""

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from lockstep_bench.bench.reference.conjugate import strong_prior
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Step, Task
from lockstep_bench.methods.training.optim import SGD
from lockstep_bench.methods.vbll import MAX_WEIGHTS, VBLL, VBLLState, negative_bound, root_of

LAST, FIRST = 5, 16  # weights of the last layer of the fixture's network and of the layer before


@pytest.fixture
def params(problem):
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(problem.dim, generator=generator, dtype=torch.float64)
    return weights, 0.5 * torch.randn(LAST, LAST, generator=generator, dtype=torch.float64)


def hidden_units(weights, batch):
    """Inputs of the last layer and a one for its bias, (M, 5)."""
    units = torch.relu(batch.x[0] @ weights[:12].reshape(3, 4) + weights[12:FIRST])
    return torch.cat([units, torch.ones(len(units), 1, dtype=torch.float64)], 1)


def test_bound_equals_expectation_over_last_layer_weights(problem, hparams, batches, params):
    (weights, factor), batch, root = params, batches(1), root_of(params[1])
    q = MultivariateNormal(weights[FIRST:], scale_tril=root)
    prior = MultivariateNormal(torch.zeros(LAST).double(), torch.eye(LAST).double() / hparams.prior_precision)
    # The NLL is quadratic in the weights, so that its mean over the points m +- sqrt(T) L e_i is its expectation.
    axes = LAST**0.5 * torch.cat([root.T, -root.T])
    nll = torch.stack([problem.nll(torch.cat([weights[:FIRST], weights[FIRST:] + axis]), batch) for axis in axes])
    decay = 0.5 * hparams.prior_precision * weights[:FIRST].square().sum()
    expected = problem.n_train * nll.mean() + kl_divergence(q, prior) + decay
    torch.testing.assert_close(negative_bound(problem, weights, factor, batch), expected)


def test_bound_equals_the_loss_of_the_authors_package(problem, hparams, batches, params):
    package = pytest.importorskip("vbll.layers.regression")
    (weights, factor), batch = params, batches(1)
    alpha, n = float(hparams.prior_precision), float(problem.n_train)
    layer = package.Regression(LAST, 1, 1 / n, prior_scale=LAST / alpha).double()
    layer.wishart_scale = layer.dof = 0  # no prior of the noise
    layer.noise_logdiag.data = -0.5 * problem.scale.log()[None]
    layer.W_mean.data, layer.W_offdiag.data = weights[None, FIRST:], factor[None]
    layer.W_logdiag.data = factor.diagonal()[None]
    theirs = layer(hidden_units(weights, batch)).train_loss_fn(batch.y[0][:, None])
    of_others = 0.5 * alpha * weights[:FIRST].square().sum()  # and a constant of the divergence
    ours = negative_bound(problem, weights, factor, batch) - of_others + 0.5 * LAST
    torch.testing.assert_close(ours, n * theirs.detach())


def test_update_follows_the_gradient_of_the_bound(problem, hparams, batches, params):
    batch = batches(1)
    leaves = [part.clone().requires_grad_() for part in params]
    bound = negative_bound(problem, *leaves, batch)
    gradients = torch.autograd.grad(bound, leaves)
    state = VBLLState(*params, SGD(), SGD())
    after, reported = VBLL().update(problem, state, batch, Noise(None), Step(torch.tensor(1.0), None))
    torch.testing.assert_close(after.weights, params[0] - hparams.lr * gradients[0])
    torch.testing.assert_close(after.factor, params[1] - hparams.lr * gradients[1])
    torch.testing.assert_close(reported["objective"], bound.detach())


def test_vbll_posterior_of_a_linear_model_is_exact():
    problem = strong_prior(0)
    stack = problem.fit(VBLL(), lr=0.01, updates=4000, batch_size=len(problem.x))
    ((mean, covariance),) = stack.moments()
    exact = problem.posterior()
    np.testing.assert_allclose(mean, exact.mean, rtol=1e-3)
    np.testing.assert_allclose(covariance, exact.covariance, rtol=1e-2, atol=1e-3 * exact.covariance.max())


def test_samples_have_the_moments_of_the_last_layer(problem, params):
    method = VBLL()
    posterior = method.finish(problem, VBLLState(*params, SGD(), SGD()))
    tape = torch.randn(LAST * 40_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    samples = method.sample(problem, posterior, Noise(tape), 40_000)
    mean, covariance = method.moments(problem, posterior)
    scale = covariance.diagonal().max()
    torch.testing.assert_close(samples.mean(0), mean, rtol=0, atol=float(0.03 * scale**0.5))
    torch.testing.assert_close(samples.T.cov(), covariance, rtol=0, atol=float(0.03 * scale))
    assert torch.equal(samples[:, :FIRST], mean[:FIRST].expand(40_000, -1))


def test_vbll_excludes_tasks_without_closed_form():
    assert VBLL().excludes(Task("any", Categorical(3), MLP(3, n_outputs=3))) == "no categorical likelihood"
    wide = Task("any", Gaussian((1.0, 1.0)), MLP(3, (MAX_WEIGHTS,)))
    assert VBLL().excludes(wide) == "its covariance would be of 1001 weights; 1000 are allowed"
