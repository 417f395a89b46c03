"""Variational Bayesian last layer: a Gaussian posterior of the last layer, by a bound in closed form.

The output of a regression is linear in the weights w of the last layer: f = w^T phi, with the inputs phi of that layer
and a one for its bias. With q(w) = N(m, S), S = L L^T, and the noise precision beta, the expectation in the ELBO is
exact, and training minimises over m, L and the weights v of all other layers

    sum_n [-log N(y_n; m^T phi_n, 1 / beta) + beta/2 phi_n^T S phi_n] + KL(q || N(0, I / alpha)) + alpha/2 |v|^2

(Harrison et al. 2024), the sum estimated from a minibatch. There are no weight samples. The paper puts a
prior on the noise and estimates it; here the noise precision is a hyper-parameter, as in all other methods.
"""

from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.nn.functional import pad

from lockstep_bench.methods.api import Adam, Batch, LogUniform, Method, Noise, Problem, Step, Task, grad_and_value
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.laplace import last_layer
from lockstep_bench.methods.networks.mlp import features

MAX_WEIGHTS = 1000  # of the last layer, whose covariance is dense
INITIAL_LOG_SD = -3.0


class VBLLState(NamedTuple):
    """State of training of a variational Bayesian last layer with T weights.

    Attributes:
        weights: (D,), all other weights v, then the posterior mean m of the last layer's weights.
        factor: (T, T), Cholesky factor L of the last layer's covariance: L below the diagonal, and log L on the
            diagonal. Entries above the diagonal are not used.
        optim: optimiser of the weights.
        factor_optim: optimiser of the factor.
    """

    weights: Tensor
    factor: Tensor
    optim: Adam
    factor_optim: Adam


class VBLLPosterior(NamedTuple):
    """Posterior of the weights: Gaussian in the last layer, a point elsewhere.

    Attributes:
        mean: (D,), all other weights v, then the posterior mean m of the last layer's weights.
        root: (T, T), Cholesky factor L of the last layer's covariance.
    """

    mean: Tensor
    root: Tensor


@catalogued("vbll")
class VBLL(Method):
    """Variational Bayesian last layer. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's."""

    likelihoods = ("gaussian",)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def excludes(self, task: Task) -> str | None:
        count = sum(last_layer(self.network(task)).sizes)
        if count > MAX_WEIGHTS:
            return f"its covariance would be of {count} weights; {MAX_WEIGHTS} are allowed"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> VBLLState:
        weights = problem.initial_weights(noise)
        factor = INITIAL_LOG_SD * torch.eye(sum(last_layer(problem.network).sizes)).to(weights)
        return VBLLState(weights, factor, Adam.init(weights), Adam.init(factor))

    def update(
        self, problem: Problem, state: VBLLState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[VBLLState, dict[str, Tensor]]:
        size = problem.dim

        def objective(params: Tensor) -> Tensor:
            return negative_bound(problem, params[:size], params[size:].view_as(state.factor), batch)

        params = torch.cat([state.weights, state.factor.flatten()])
        gradient, value = grad_and_value(objective)(params)
        lr = problem.hparams.lr
        weights, optim = state.optim.step(state.weights, gradient[:size], lr, step)
        of_factor = gradient[size:].view_as(state.factor)
        factor, factor_optim = state.factor_optim.step(state.factor, of_factor, lr, step)
        return VBLLState(weights, factor, optim, factor_optim), {"objective": value}

    def finish(self, problem: Problem, state: VBLLState) -> VBLLPosterior:
        return VBLLPosterior(state.weights, root_of(state.factor))

    def moments(self, problem: Problem, posterior: VBLLPosterior) -> tuple[Tensor, Tensor]:
        certain = problem.dim - len(posterior.root)
        return posterior.mean, pad(posterior.root @ posterior.root.T, (certain, 0, certain, 0))

    def sample(self, problem: Problem, posterior: VBLLPosterior, noise: Noise, n_samples: int) -> Tensor:
        deviations = noise.normal(n_samples, len(posterior.root)) @ posterior.root.T
        return posterior.mean + pad(deviations, (problem.dim - len(posterior.root), 0))


def negative_bound(problem: Problem, weights: Tensor, factor: Tensor, batch: Batch) -> Tensor:
    """Return the training objective (a negative ELBO), (), nats, at weights (D,) and factor (T, T)."""
    alpha, root, layer = problem.hparams.prior_precision, root_of(factor), last_layer(problem.network)
    x, y = batch.x.flatten(0, 1), batch.y.flatten()
    inputs = features(problem.network, weights, x)
    outputs = layer(torch.split(weights[-len(root) :], layer.sizes), inputs)
    if layer.bias:
        inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)
    variance = (inputs @ root).square().sum(1)
    expected = problem.nll_of_outputs(outputs, y) + 0.5 * problem.scale * variance
    squares = weights.square().sum() + root.square().sum()  # of v and m, and the trace of S
    log_determinant = 2 * factor.diagonal().sum()
    divergence = 0.5 * (alpha * squares - log_determinant - len(root) * (1 + alpha.log()))
    return problem.n_train * expected.mean() + divergence


def root_of(factor: Tensor) -> Tensor:
    """Return L (T, T), lower triangular with a positive diagonal, from `VBLLState.factor`."""
    return factor.tril(-1) + torch.diag_embed(factor.diagonal().exp())
