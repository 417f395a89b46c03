"""IVON: a diagonal natural-gradient method.

q(theta) = N(m, diag(s^2)), s^2 = 1 / (N h + alpha), maximises the ELBO. With a weight sample theta = m + s eps, the
minibatch gradient g of the mean NLL at theta and the estimate h' = g eps / s of its Hessian's diagonal, an update is

    G <- b1 G + (1 - b1) g
    h <- b2 h + (1 - b2) h' + (1 - b2)^2 / 2 (h - h')^2 / (h + alpha / N)
    m <- m - lr (G / (1 - b1^t) + alpha m / N) / (h + alpha / N)

(Shen et al. 2024, Algorithm 1). The last term of the second line keeps h + alpha / N positive.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.api import LogUniform, Method, Paper, grad_and_value, kl_diagonal

MOMENTUM, HESSIAN_DECAY = 0.9, 0.999


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


class IVON(Method):
    """Improved variational online Newton. Hyper-parameters: `lr`, `hess_init`, `prior_precision`, the likelihood's."""

    name = "ivon"
    title = "IVON"
    paper = Paper("Shen et al. 2024", "Variational Learning is Effective for Large Deep Networks")
    objective = r"\min_{m, s} \; E_q[-\log\, p(D \mid \theta)] + \operatorname{KL}(q \,\|\, N(0, I / \alpha))"
    idea = "The posterior's precision is a diagonal of the Hessian, estimated from gradients at perturbed weights."
    covariance = "diagonal"

    def search_space(self, task):
        return {
            "lr": LogUniform(0.01, 0.1),
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

        momentum = torch.lerp(gradient, state.gradient, MOMENTUM)
        estimate, rate = gradient * unit / sd, 1 - HESSIAN_DECAY
        precision = state.hessian + decay
        correction = 0.5 * rate**2 * (state.hessian - estimate).square() / precision
        hessian = torch.lerp(state.hessian, estimate, rate) + correction
        unbiased = momentum / -torch.expm1(step.count * math.log(MOMENTUM))
        mean = state.mean - problem.hparams.lr * (unbiased + decay * state.mean) / (hessian + decay)

        negative_elbo = problem.n_train * nll + kl_diagonal(state.mean, sd.log(), alpha)
        return State(mean, momentum, hessian), {"elbo": problem.elbo(negative_elbo)}

    def sample(self, problem, posterior, noise, n_samples):
        return posterior.mean + self.sd(problem, posterior.hessian) * noise.normal(n_samples, problem.dim)

    def sd(self, problem, hessian):
        """Return the posterior standard deviation (D,)."""
        return (problem.n_train * hessian + problem.hparams.prior_precision).rsqrt()
