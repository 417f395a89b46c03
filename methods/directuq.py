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
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.nn.functional import softplus

from lockstep_bench.methods import search_ranges
from lockstep_bench.methods.base import Method, Paper
from lockstep_bench.methods.maths.gradients import grad_and_value
from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian, Likelihood
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.methods.maths.priors import (
    PENALTY_WEIGHTS,
    EmpiricalBayes,
    Fixed,
    LearnedMean,
    LearnedMeanAndVariance,
    Prior,
    averaged,
    unshared,
)
from lockstep_bench.methods.maths.search_spaces import LogUniform, OneOf
from lockstep_bench.methods.networks.mlp import Network
from lockstep_bench.methods.problem import Batch, Problem, Step, Task
from lockstep_bench.methods.training.optim import Adam


class State(NamedTuple):
    """State of a fit.

    Attributes:
        weights: (D,), of the network with 2K outputs.
        optim: of the weights.
    """

    weights: Tensor
    optim: Adam


class DirectUQ(Method):
    """Base of all variants.

    Hyper-parameters: `lr` and `penalty_weight` (eta). The paper's learning rate is 0.001, or 0.0005 on two of four data
    sets (appendix D).

    Args:
        mc_samples: L, samples of z per training example and update.
    """

    paper = Paper("Wei and Khardon", "Direct Uncertainty Quantification")
    weight_posterior = False
    one_pass = True
    wide_ranges = search_ranges.DIRECTUQ_WIDE

    def __init__(self, mc_samples: int = 10):
        self.mc_samples = mc_samples

    @abstractmethod
    def penalty(self, problem: Problem, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        """Return the mean of R over a minibatch, (), nats, given mean and sd (M, K) of q(z | x)."""

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(5e-4, 1e-3), "penalty_weight": OneOf(*PENALTY_WEIGHTS)}

    def likelihood(self, task: Task) -> Likelihood:
        return HeteroscedasticGaussian() if task.likelihood.standardises else task.likelihood

    def network(self, task: Task) -> Network:
        return replace(task.network, n_outputs=2 * self.likelihood(task).n_outputs)

    def init(self, problem: Problem, noise: Noise) -> State:
        weights = problem.initial_weights(noise)
        return State(weights, Adam.init(weights))

    def update(
        self, problem: Problem, state: State, batch: Batch, noise: Noise, step: Step
    ) -> tuple[State, dict[str, Tensor]]:
        x, y = batch.x.flatten(0, 1), batch.y.flatten()
        unit = noise.normal(self.mc_samples, len(y), problem.likelihood.n_outputs)

        def objective(weights: Tensor) -> Tensor:
            mean, sd = distribution_of_outputs(problem, weights, x)
            nll = problem.nll_of_outputs(mean + sd * unit, y).mean()
            return nll + problem.hparams.penalty_weight * self.penalty(problem, weights, mean, sd)

        gradient, value = grad_and_value(objective)(state.weights)
        weights, optim = state.optim.step(state.weights, gradient, problem.hparams.lr, step)
        return State(weights, optim), {"objective": problem.n_train * value}

    def finish(self, problem: Problem, state: State) -> Tensor:
        return state.weights

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        mean, sd = distribution_of_outputs(problem, posterior, x)
        half = noise.normal(-(-n_samples // 2), 1, problem.likelihood.n_outputs)
        unit = torch.cat([half, -half])[:n_samples]
        return problem.predictive_of_outputs(mean + sd * unit)


class DirectUQWithPrior(DirectUQ):
    """Base of the variants with a prior on z."""

    prior: Prior
    one_prior_for_all_data = False

    def penalty(self, problem: Problem, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        share = averaged if self.one_prior_for_all_data else unshared
        return self.prior.penalty(mean, sd, share).mean()


class DirectUQNaive(DirectUQWithPrior):
    """Uses the fixed prior N(0, 0.1 I), and N(0, I) on images.

    Both variances are the paper's (appendix D).
    """

    name = "directuq-naive"
    title = "DirectUQ, fixed prior"
    prior = Fixed(variance=0.1)

    def suited_to(self, task: Task) -> "DirectUQNaive":
        if task.network.image is None:
            return self
        suited = copy(self)
        suited.prior = Fixed(variance=1.0)
        return suited


class DirectUQMean(DirectUQWithPrior):
    """Infers the prior mean at each x (eq. 12)."""

    name = "directuq-mean"
    title = "DirectUQ, prior mean inferred"
    prior = LearnedMean()


class DirectUQMeanVariance(DirectUQWithPrior):
    """Infers the prior mean and variance at each x (eq. 13-14)."""

    name = "directuq-mv"
    title = "DirectUQ, prior mean and variance inferred"
    prior = LearnedMeanAndVariance()


class DirectUQEmpiricalBayes(DirectUQWithPrior):
    """Estimates one prior variance for all K entries of z at each x (eq. 16)."""

    name = "directuq-eb"
    title = "DirectUQ, empirical Bayes"
    prior = EmpiricalBayes()


class DirectUQMeanAll(DirectUQMean):
    """Infers one prior mean for all data (eq. 23)."""

    name = "directuq-mean-all"
    title = "DirectUQ, one prior mean"
    one_prior_for_all_data = True


class DirectUQMeanVarianceAll(DirectUQMeanVariance):
    """Infers one prior variance for all data, and a prior mean at each x (eq. 29-30)."""

    name = "directuq-mv-all"
    title = "DirectUQ, one prior variance, means inferred"
    one_prior_for_all_data = True


class DirectUQEmpiricalBayesAll(DirectUQEmpiricalBayes):
    """Estimates one prior variance for all data (appendix C.3)."""

    name = "directuq-eb-all"
    title = "DirectUQ, empirical Bayes, one prior"
    one_prior_for_all_data = True


class DirectUQL2(DirectUQ):
    """Replaces the prior on z by weight decay eta / N |W|^2 (section 5.4, where the square is missing).

    Without tuning eta is 5 on images, where the other variants have 0.1 (section 6.1).
    """

    name = "directuq-l2"
    title = "DirectUQ, weight decay"
    image_ranges = search_ranges.DIRECTUQ_L2_IMAGES

    def penalty(self, problem: Problem, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return weights.square().sum() / problem.n_train


class DirectUQEnsemble(DirectUQMean):
    """Averages five networks of the variant that infers the prior mean."""

    name = "directuq-ensemble"
    title = "Ensemble of DirectUQ"
    members = 5


def distribution_of_outputs(problem: Problem, weights: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mu and sigma of q(z | x), each (M, K), at x (M, P)."""
    mean, link = problem.network(weights, x).chunk(2, dim=-1)
    return mean, softplus(link)
