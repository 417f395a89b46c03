"""SGLD that keeps 16 draws.

Stochastic gradient Langevin dynamics at a constant step size e (Welling and Teh 2011, eq. 4),

    theta <- theta - e/2 (-N/M sum_i grad log p(y_i | theta) + alpha theta) + sqrt(e) eps,   eps ~ N(0, I),

of which 16 evenly spaced iterates of the second half are kept. With e = lr / (N c + alpha), where c is the curvature of
the NLL in the outputs, one range of `lr` serves every data set and both precisions.
"""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.api import LogUniform, Method, Paper, grad_and_value

KEPT = 16


class State(NamedTuple):
    """State of a fit.

    Attributes:
        weights: (D,), the present iterate.
        draws: (16, D), the latest iterates that were kept, the newest last.
    """

    weights: Tensor
    draws: Tensor


class SGLD(Method):
    """SGLD at a constant rate. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's."""

    name = "langevin"
    title = "SGLD, 16 draws"
    paper = Paper("Welling and Teh 2011", "Bayesian Learning via Stochastic Gradient Langevin Dynamics")
    objective = r"\theta_{t+1} = \theta_t + \frac{\epsilon}{2} \nabla \log\, p(\theta_t, D) + \sqrt{\epsilon}\, \eta_t"
    idea = "Gradient steps with injected noise draw from the posterior; 16 of the iterates are kept."
    constant_rate = True
    wide_ranges: ClassVar = {"lr": LogUniform(0.003, 0.03)}  # faster, networks with a weak prior diverge

    def search_space(self, task):
        return {"lr": LogUniform(0.01, 0.1), "prior_precision": LogUniform(0.01, 10), **task.likelihood.search_space()}

    def phase(self, update, plan):
        """Return whether the iterate is kept: one in 1/32 of all updates, in the second half."""
        every = max(1, plan.n_updates // (2 * KEPT))
        return (plan.n_updates - update) % every == 0 and plan.n_updates - update < KEPT * every

    def init(self, problem, noise):
        weights = problem.initial_weights(noise)
        return State(weights, weights.expand(KEPT, -1).clone())

    def update(self, problem, state, batch, noise, step):
        def negative_log_posterior(weights):
            return problem.n_train * problem.nll(weights, batch) + self.penalty(problem, weights)

        gradient, value = grad_and_value(negative_log_posterior)(state.weights)
        size = problem.hparams.lr / (problem.n_train * problem.scale + problem.hparams.prior_precision)
        weights = state.weights - size / 2 * gradient + size.sqrt() * noise.normal(problem.dim)
        draws = torch.cat([state.draws[1:], weights[None]]) if step.phase else state.draws
        return State(weights, draws), {"objective": value}

    def penalty(self, problem, weights):
        """Return minus the log density of the prior, up to a constant: ()."""
        return 0.5 * problem.hparams.prior_precision * weights.square().sum()

    def finish(self, problem, state):
        return state.draws

    def sample(self, problem, posterior, noise, n_samples):
        if n_samples >= KEPT:
            return posterior
        return posterior[(KEPT * noise.uniform(n_samples)).long().clamp(max=KEPT - 1)]
