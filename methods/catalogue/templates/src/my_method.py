"""My method: variational inference with one standard deviation for all weights.

q(theta) = N(mean, sd^2 I) minimises the negative ELBO

    E_q[-log p(D | theta)] + KL(q || N(0, I / alpha)),

the expectation by one reparameterised sample per minibatch, the KL in closed form.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.api import Adam, LogUniform, Method, Paper, grad_and_value, kl_diagonal

INITIAL_LOG_SD = -3.0


class State(NamedTuple):
    """State of a fit.

    Attributes:
        params: (D + 1,), the posterior mean and the logarithm of its standard deviation.
        optim: Adam's moments of both.
    """

    params: Tensor
    optim: Adam


class MyMethod(Method):
    """Isotropic VI with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's."""

    name = "my-method"
    title = "My method"
    paper = Paper("Me 2026", "A Title")
    covariance = "spherical"

    def search_space(self, task):
        return {"lr": LogUniform(1e-3, 3e-2), "prior_precision": LogUniform(0.01, 10), **task.likelihood.search_space()}

    def init(self, problem, noise):
        mean = problem.initial_weights(noise)
        params = torch.cat([mean, torch.full_like(mean[:1], INITIAL_LOG_SD)])
        return State(params, Adam.init(params))

    def update(self, problem, state, batch, noise, step):
        unit = noise.normal(problem.dim)

        def negative_elbo(params):
            mean, log_sd = params[:-1], params[-1]
            data = problem.n_train * problem.nll(mean + log_sd.exp() * unit, batch)
            return data + kl_diagonal(mean, log_sd.expand_as(mean), problem.hparams.prior_precision)

        gradient, value = grad_and_value(negative_elbo)(state.params)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr, step)
        return State(params, optim), {"elbo": problem.elbo(value)}

    def finish(self, problem, state):
        return state.params

    def sample(self, problem, posterior, noise, n_samples):
        return posterior[:-1] + posterior[-1].exp() * noise.normal(n_samples, problem.dim)
