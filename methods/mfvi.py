"""Mean-field VI: a factorised Gaussian posterior by the reparameterisation trick (Bayes by Backprop).

q(theta) = N(mean, diag(exp(2 log_sd))) minimises the negative ELBO

    E_q[-log p(D | theta)] + KL(q || N(0, I / alpha)),

the expectation by one reparameterised sample per minibatch (Blundell et al. 2015, section 3.2), the KL in closed form.
"""

from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import grad

from methods.base import Method, Paper
from methods.gaussian import kl_diagonal
from methods.optim import Adam
from methods.problem import Problem, Task
from methods.spaces import LogUniform

INITIAL_LOG_SD = -3.0


class State(NamedTuple):
    """Attributes:
    params: (2, D): posterior mean and log standard deviation.
    optim: of both.
    """

    params: Tensor
    optim: Adam


class MeanFieldVI(Method):
    """Bayes by Backprop with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's."""

    name = "mfvi"
    title = "Mean-field VI"
    paper = Paper("Blundell et al. 2015", "Weight Uncertainty in Neural Networks")

    gaussian = True

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, hparams, noise) -> State:
        mean = problem.initial_weights(noise)
        params = torch.stack([mean, torch.full_like(mean, INITIAL_LOG_SD)])
        return State(params, Adam.init(params))

    def update(self, problem: Problem, state: State, batch, hparams, noise, t) -> State:
        unit = noise.normal(problem.dim)

        def negative_elbo(params: Tensor) -> Tensor:
            mean, log_sd = params
            data = problem.n_train * problem.mean_nll(mean + log_sd.exp() * unit, batch, hparams)
            return data + kl_diagonal(mean, log_sd, hparams.prior_precision)

        params, optim = state.optim.step(state.params, grad(negative_elbo)(state.params), hparams.lr, t)
        return State(params, optim)

    def finish(self, problem: Problem, state: State, hparams) -> Tensor:
        return state.params

    def sample(self, problem: Problem, posterior: Tensor, noise, n_samples: int) -> Tensor:
        mean, log_sd = posterior
        return mean + log_sd.exp() * noise.normal(n_samples, problem.dim)
