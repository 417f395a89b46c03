"""Epinet: a network with an index z, whose small second network learns how outputs vary with z (Osband et al. 2023).

The outputs at x are the sum of a base network mu, whose last hidden units are phi, and an epinet with index z ~ N(0,
I):

    f(x, z) = mu(x) + [ learnt(stop(phi), x, z) + scale prior(x) ] z,

where both terms in brackets are matrices (O, K), and no gradient passes through stop. The columns of prior(x) are K
small networks whose random weights are never trained. One z for all inputs draws one function, so that draws at several
inputs are joint. With v the weights of the base network and of the learnt one, training minimises

    E_z[ sum_n -log p(y_n + c_n^T z / sqrt(beta) | f(x_n, z)) ] + alpha/2 |v|^2,

with 8 indices per minibatch. With a Gaussian likelihood of noise precision beta, targets are perturbed as in the
paper's theory. With other likelihoods c_n = 0, as in the paper's classifiers. If all networks are linear, draws are

    f(x, z) = x^T (m + B z),    B = S (alpha scale P + sqrt(beta) X^T C),

for the exact posterior N(m, S), the prior networks x^T P and the rows c_n of C. The mean of B B^T over random P and C
is S if scale P z has the prior's distribution N(0, I / alpha) and C C^T has the mean I.

c_n is the random vector sqrt(2 / K) cos(W (x_n, y_n) + b), with W and b drawn once. A row thus keeps its c_n throughout
training, as in the paper, although minibatches carry no row numbers. Rows a tenth of a standard deviation apart have
uncorrelated vectors.
"""

import math
from dataclasses import replace
from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap

from lockstep_bench.methods.api import (
    MLP,
    Adam,
    Batch,
    LogUniform,
    Method,
    Network,
    Noise,
    Predictive,
    Problem,
    Step,
    Task,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.laplace import last_layer
from lockstep_bench.methods.networks.mlp import features

HIDDEN, PRIOR_HIDDEN = (15, 15), (5, 5)  # hidden units of the learnt network and of each prior network
N_INDICES = 8  # per minibatch
FREQUENCY = 30.0  # standard deviation of W


class EpinetFixed(NamedTuple):
    """Random numbers of an epinet that training does not change.

    Attributes:
        prior: (K, D0), weights of the prior networks.
        frequencies: (K, P + 1), W of the random features that perturb the targets.
        phases: (K,), b of these features.
    """

    prior: Tensor
    frequencies: Tensor
    phases: Tensor


class EpinetState(NamedTuple):
    """State of an epinet's training.

    Attributes:
        params: (D + E,), weights of the base network and of the learnt network.
        fixed: random numbers that training does not change.
        optim: optimiser of `params`.
    """

    params: Tensor
    fixed: EpinetFixed
    optim: Adam


class EpinetPosterior(NamedTuple):
    """The parts of the last state that prediction needs: `params` and `fixed.prior`."""

    params: Tensor
    prior: Tensor


@catalogued("epinet")
class Epinet(Method):
    """Epinet on a multilayer perceptron. Hyper-parameters: `lr`, `prior_precision`, `prior_scale` and the likelihood's.

    Args:
        index_dim: K, dimension of the index z.
    """

    weight_posterior = False
    one_pass = True

    def __init__(self, index_dim: int = 8):
        self.index_dim = index_dim

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            "prior_scale": LogUniform(0.1, 10),
            **task.likelihood.search_space(),
        }

    def excludes(self, task: Task) -> str | None:
        if not isinstance(self.network(task), MLP):
            return "its prior networks are multilayer perceptrons of the inputs"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> EpinetState:
        base, learnt, prior = self.networks(problem.network)
        params = torch.cat([base.initial_weights(noise), learnt.initial_weights(noise)])
        priors = torch.stack([prior.initial_weights(noise) for _ in range(self.index_dim)])
        frequencies = FREQUENCY * noise.normal(self.index_dim, base.n_inputs + 1)
        fixed = EpinetFixed(priors, frequencies, 2 * math.pi * noise.uniform(self.index_dim))
        return EpinetState(params, fixed, Adam.init(params))

    def networks(self, network: Network) -> tuple[MLP, MLP, MLP]:
        """Return the base network, the learnt network and a prior network; all are linear if the first one is."""
        base = cast(MLP, network)
        n_inputs, n_outputs = base.n_inputs, base.n_outputs
        if not base.hidden:
            return base, replace(base, n_outputs=n_outputs * self.index_dim), base
        learnt = replace(
            base,
            n_inputs=base.hidden[-1] + n_inputs + self.index_dim,
            hidden=HIDDEN,
            n_outputs=n_outputs * self.index_dim,
        )
        return base, learnt, replace(base, hidden=PRIOR_HIDDEN)

    def outputs(self, problem: Problem, params: Tensor, prior: Tensor, x: Tensor, z: Tensor) -> Tensor:
        """Return the network's outputs f(x, z) for each index and input, (S, M, O).

        Args:
            problem: provides the network and the hyper-parameters.
            params: (D + E,), weights of the base network and of the learnt network.
            prior: (K, D0), weights of the prior networks.
            x: (M, P), inputs.
            z: (S, K), indices.
        """
        base, learnt, prior_network = self.networks(problem.network)
        weights, rest = params[: base.dim], params[base.dim :]
        hidden = features(base, weights, x)
        mean = last_layer(base)(base.split(weights)[-1], hidden)
        columns: Tensor = vmap(prior_network, in_dims=(0, None))(prior, x)
        fixed = problem.hparams.prior_scale * columns.movedim(0, -1)

        def of_index(index: Tensor) -> Tensor:
            inputs = x if not base.hidden else torch.cat([hidden.detach(), x, index.expand(len(x), -1)], 1)
            matrices = learnt(rest, inputs).unflatten(1, (base.n_outputs, self.index_dim)) + fixed
            varied: Tensor = (matrices * index).sum(-1)
            return mean + varied

        outputs: Tensor = vmap(of_index)(z)
        return outputs

    def objective(self, problem: Problem, params: Tensor, fixed: EpinetFixed, batch: Batch, z: Tensor) -> Tensor:
        """Return the training objective, (), nats, on a minibatch, with the mean over indices z (S, K)."""
        x, y = batch.x.flatten(0, 1), batch.y.flatten()
        outputs = self.outputs(problem, params, fixed.prior, x, z)
        if problem.likelihood.kind == "gaussian":
            y = y + z @ perturbations(fixed, x, y).T / problem.scale.sqrt()
        nll = problem.nll_of_outputs(outputs, y).mean()
        return problem.n_train * nll + 0.5 * problem.hparams.prior_precision * params.square().sum()

    def update(
        self, problem: Problem, state: EpinetState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[EpinetState, dict[str, Tensor]]:
        z = noise.normal(N_INDICES, self.index_dim)
        objective = grad_and_value(lambda params: self.objective(problem, params, state.fixed, batch, z))
        gradient, value = objective(state.params)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr, step)
        return EpinetState(params, state.fixed, optim), {"objective": value}

    def finish(self, problem: Problem, state: EpinetState) -> EpinetPosterior:
        return EpinetPosterior(state.params, state.fixed.prior)

    def predict(
        self, problem: Problem, posterior: EpinetPosterior, x: Tensor, noise: Noise, n_samples: int
    ) -> Predictive:
        z = noise.normal(n_samples, self.index_dim)
        return problem.predictive_of_outputs(self.outputs(problem, *posterior, x, z))


def perturbations(fixed: EpinetFixed, x: Tensor, y: Tensor) -> Tensor:
    """Return C (M, K), random features of inputs x (M, P) and targets y (M,), by which targets are perturbed."""
    angles = torch.cat([x, y[:, None]], 1) @ fixed.frequencies.T + fixed.phases
    return math.sqrt(2 / len(fixed.phases)) * torch.cos(angles)
