"""Vadam: variational inference by weight perturbation in Adam.

q(theta) = N(m, diag(1 / (N h + alpha))) approximately maximises the ELBO. With g the minibatch gradient of the mean NLL
at a sample of q, an update is

    G <- b1 G + (1 - b1) (g + alpha m / N)
    h <- b2 h + (1 - b2) g^2
    m <- m - lr (G / (1 - b1^t)) / (sqrt(h) + alpha / N)

(Khan et al. 2018, Figure 1, where h starts at 0 and is divided by 1 - b2^t; here it starts at `hess_init`). The square
of a minibatch's gradient stands for the Hessian's diagonal.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.api import LogUniform, Method, Paper, grad_and_value, kl_diagonal

MEAN_DECAY, HESSIAN_DECAY = 0.9, 0.999


class State(NamedTuple):
    """State of a fit.

    Attributes:
        mean: (D,), m.
        gradient: (D,), G.
        hessian: (D,), h.
    """

    mean: Tensor
    gradient: Tensor
    hessian: Tensor


class Vadam(Method):
    """Variational Adam. Hyper-parameters: `lr`, `hess_init`, `prior_precision` and the likelihood's."""

    name = "vadam"
    title = "Vadam"
    paper = Paper("Khan et al. 2018", "Fast and Scalable Bayesian Deep Learning by Weight-Perturbation in Adam")
    objective = r"\min_{m, s} \; E_q[-\log\, p(D \mid \theta)] + \operatorname{KL}(q \,\|\, N(0, I / \alpha))"
    idea = "Adam takes its gradients at weights drawn from a Gaussian, whose precision is Adam's mean squared gradient."
    covariance = "diagonal"
    spread_caveat = "the square of a minibatch's gradient stands for the Hessian"

    def search_space(self, task):
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "hess_init": LogUniform(0.1, 10),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem, noise):
        mean = problem.initial_weights(noise)
        return State(mean, torch.zeros_like(mean), problem.hparams.hess_init.expand_as(mean).clone())

    def update(self, problem, state, batch, noise, step):
        alpha, decay = problem.hparams.prior_precision, problem.hparams.prior_precision / problem.n_train
        sd, unit = self.sd(problem, state.hessian), noise.normal(problem.dim)
        gradient, nll = grad_and_value(problem.nll)(state.mean + sd * unit, batch)

        momentum = torch.lerp(gradient + decay * state.mean, state.gradient, MEAN_DECAY)
        hessian = torch.lerp(gradient.square(), state.hessian, HESSIAN_DECAY)
        unbiased = momentum / -torch.expm1(step.count * math.log(MEAN_DECAY))
        mean = state.mean - problem.hparams.lr * unbiased / (hessian.sqrt() + decay)

        negative_elbo = problem.n_train * nll + kl_diagonal(state.mean, sd.log(), alpha)
        return State(mean, momentum, hessian), {"elbo": problem.elbo(negative_elbo)}

    def sample(self, problem, posterior, noise, n_samples):
        return posterior.mean + self.sd(problem, posterior.hessian) * noise.normal(n_samples, problem.dim)

    def sd(self, problem, hessian):
        """Return the posterior standard deviation (D,)."""
        return (problem.n_train * hessian + problem.hparams.prior_precision).rsqrt()
