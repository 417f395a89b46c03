"""Direct uncertainty quantification: a network outputs a posterior distribution over its own function values.

Let z be the K function values at x that the likelihood depends on. A network with 2K outputs gives the variational
distribution q(z | x) = N(mu(x), diag(sigma(x)^2)); mu and sigma share all layers but the last. Per training example it
minimises (Wei and Khardon, eq. 4-5)

    1/L sum_l -log p(y | z_l) + eta R(mu(x), sigma(x)),      z_l = mu(x) + sigma(x) eps_l,

where R is the divergence of q(z | x) from a prior on z. The prior can be hierarchical (`methods.maths.priors`), with
parameters inferred for each x (section 5) or shared by all data (appendix C, the `-all` variants; averages over the
data are estimated by the minibatch). One forward pass serves all L samples. The paper does not state L; the code of its
journal version (weiyadi/VIFO) takes 5 in training and 10 in prediction.

Regression is heteroscedastic: z = (m, l) with y ~ N(m, exp(l)), so the network has four outputs. sigma is the softplus
of an output, the link for which the paper's risk bound holds (appendix A.1).

q(z | x) does not model dependence between points, so prediction uses the same eps at all points. This does not change
the predictive at any single point. eps comes in pairs of opposite sign, so that the mean of an even number of samples
is exactly mu(x).
"""

from abc import abstractmethod
from dataclasses import replace
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.nn.functional import softplus

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    HeteroscedasticGaussian,
    Likelihood,
    LogUniform,
    Method,
    Network,
    Noise,
    OneOf,
    Predictive,
    Problem,
    Step,
    Task,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.priors import PENALTY_WEIGHTS, PRIORS, Fixed, averaged, unshared


class DirectUQState(NamedTuple):
    """State of training by direct uncertainty quantification.

    Attributes:
        weights: (D,), weights of the network with 2K outputs.
        optim: optimiser of the weights.
    """

    weights: Tensor
    optim: Adam


class DirectUQ(Method):
    """Base of the variants of direct uncertainty quantification, which differ in the penalty R.

    Hyper-parameters: `lr` and `penalty_weight` (eta). The paper's learning rate is 0.001, or 0.0005 on two of four data
    sets (appendix D).

    Args:
        mc_samples: L, number of samples of z per training example and update.
    """

    likelihoods = ("gaussian", "heteroscedastic", "bernoulli", "categorical")
    weight_posterior = False
    one_pass = True

    def __init__(self, mc_samples: int = 10):
        self.mc_samples = mc_samples

    @abstractmethod
    def penalty(self, problem: Problem, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        """Return the penalty R, averaged over a minibatch, (), nats.

        R is the divergence of q(z | x) from the prior on the function values z; `mean` and `sd` (M, K) are those of q(z
        | x).
        """

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(5e-4, 1e-3), "penalty_weight": OneOf(*PENALTY_WEIGHTS)}

    def likelihood(self, task: Task) -> Likelihood:
        return HeteroscedasticGaussian() if task.likelihood.standardises else task.likelihood

    def network(self, task: Task) -> Network:
        return replace(task.network, n_outputs=2 * self.likelihood(task).n_outputs)

    def init(self, problem: Problem, noise: Noise) -> DirectUQState:
        weights = problem.initial_weights(noise)
        return DirectUQState(weights, Adam.init(weights))

    def update(
        self, problem: Problem, state: DirectUQState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[DirectUQState, dict[str, Tensor]]:
        x, y = batch.x.flatten(0, 1), batch.y.flatten()
        unit = noise.normal(self.mc_samples, len(y), problem.likelihood.n_outputs)

        def objective(weights: Tensor) -> Tensor:
            mean, sd = distribution_of_outputs(problem, weights, x)
            nll = problem.nll_of_outputs(mean + sd * unit, y).mean()
            return nll + problem.hparams.penalty_weight * self.penalty(problem, weights, mean, sd)

        gradient, value = grad_and_value(objective)(state.weights)
        weights, optim = state.optim.step(state.weights, gradient, problem.hparams.lr, step)
        return DirectUQState(weights, optim), {"objective": problem.n_train * value}

    def finish(self, problem: Problem, state: DirectUQState) -> Tensor:
        return state.weights

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        mean, sd = distribution_of_outputs(problem, posterior, x)
        half = noise.normal(-(-n_samples // 2), 1, problem.likelihood.n_outputs)
        unit = torch.cat([half, -half])[:n_samples]
        return problem.predictive_of_outputs(mean + sd * unit)


@catalogued("directuq-mean")
class DirectUQWithPrior(DirectUQ):
    """Direct uncertainty quantification with a prior on the function values z.

    Args:
        prior: a key of `methods.maths.priors.PRIORS`. On images the fixed prior has variance 1 (appendix D).
        one_prior_for_all_data: whether the parameters of the prior are shared by all x.
        mc_samples: see `DirectUQ`.
    """

    def __init__(self, prior: str = "learned-mean", one_prior_for_all_data: bool = False, mc_samples: int = 10):
        super().__init__(mc_samples)
        self.prior = PRIORS[prior]
        self.one_prior_for_all_data = one_prior_for_all_data

    def suited_to(self, task: Task) -> "DirectUQWithPrior":
        on_images, fixed = task.network.image is not None, isinstance(self.prior, Fixed)
        return self.changed(prior=Fixed(variance=1.0)) if on_images and fixed else self

    def penalty(self, problem: Problem, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        share = averaged if self.one_prior_for_all_data else unshared
        return self.prior.penalty(mean, sd, share).mean()


@catalogued("directuq-l2")
class DirectUQL2(DirectUQ):
    """DirectUQ with weight decay eta / N |W|^2 in place of the prior on z (section 5.4, where the square is missing).

    On images eta is 5 if it is not tuned, and 0.1 for the other variants (section 6.1).
    """

    def penalty(self, problem: Problem, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return weights.square().sum() / problem.n_train


def distribution_of_outputs(problem: Problem, weights: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean mu and standard deviation sigma of the function values z at x (M, P), each (M, K)."""
    mean, link = problem.network(weights, x).chunk(2, dim=-1)
    return mean, softplus(link)
