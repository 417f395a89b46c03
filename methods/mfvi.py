"""Mean-field VI: a factorised Gaussian posterior by the reparameterisation trick.

q(theta) = N(mean, diag(exp(2 log_sd))) minimises the negative ELBO

    E_q[-log p(D | theta)] + KL(q || N(0, I / alpha)),

with the KL in closed form. The variants differ in one of the two terms:

- `mfvi` estimates the expectation with one weight sample per minibatch (Blundell et al. 2015, section 3.2).
- `mfvi-local` samples layer outputs for each example, N(layer(mean, h), layer(sd^2, h^2)) given the layer's inputs h.
  Their marginal distributions are the same, and the gradient has less variance (Kingma et al. 2015, eq. 6). For
  convolutions this is an approximation, because it ignores the dependence between positions of an image. Weights of
  layers that are not matrices are sampled once per minibatch.
- `mfvi-mean`, `mfvi-mv` and `mfvi-eb` replace the KL by eta times the collapsed divergence of a hierarchical prior
  (`methods.maths.priors`). They are vi-mean, vi-mv and vi-eb of Wei and Khardon.

Networks for images would underfit. There, standard deviations start small and have an upper bound, and the divergence
is annealed (`methods.training.annealing`), as in "Sparse Uncertainty Representation in Deep Learning with Inducing
Weights". That paper does not state the upper bound for weights. The 0.1 used here is that of its authors' code, and of
its inducing weights.
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from methods import search_ranges
from methods.base import Method, Paper, Plan
from methods.maths.gaussian import kl_diagonal
from methods.maths.gradients import grad_and_value
from methods.maths.noise import Noise
from methods.maths.priors import PENALTY_WEIGHTS, EmpiricalBayes, LearnedMean, LearnedMeanAndVariance, Prior
from methods.maths.search_spaces import LogUniform, OneOf
from methods.networks.layers import Layer, Matrix
from methods.problem import Batch, Problem, Step, Task
from methods.training import annealing
from methods.training.annealing import Annealing
from methods.training.optim import Adam

INITIAL_LOG_SD = -3.0
IMAGE_INITIAL_SD, IMAGE_MAX_SD = 1e-3, 0.1
LEAST_VARIANCE = 1e-16  # added to the variance of layer outputs, because sqrt has no derivative at 0


class State(NamedTuple):
    """State of training.

    Attributes:
        params: (2, D), posterior mean and log standard deviation.
        optim: optimiser of both.
    """

    params: Tensor
    optim: Adam


class MeanFieldVI(Method):
    """Bayes by Backprop with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        initial_log_sd: initial log standard deviation of all weights.
        max_sd: upper bound of all standard deviations, or None.
        annealed: whether the weight of the divergence grows from 0 to `tempering` (`methods.training.annealing`).
        tempering: weight of the divergence; 1 for the ELBO, less for a colder posterior.
        mean_network: whether to predict with the posterior mean alone, as "VI (Mean)" of Unlu and Aitchison does.
    """

    name = "mfvi"
    title = "Mean-field VI"
    paper = Paper("Blundell et al. 2015", "Weight Uncertainty in Neural Networks")

    gaussian = True

    def __init__(
        self,
        initial_log_sd: float = INITIAL_LOG_SD,
        max_sd: float | None = None,
        annealed: bool = False,
        tempering: float = 1.0,
        mean_network: bool = False,
    ):
        self.initial_log_sd = initial_log_sd
        self.max_sd = max_sd
        self.annealed = annealed
        self.tempering = tempering
        if tempering != 1:  # a tempered posterior is not the exact one
            self.gaussian = self.weight_posterior = False
        self.mean_network = mean_network

    def suited_to(self, task: Task) -> "MeanFieldVI":
        if self.network(task).image is None:
            return self
        return self.changed(initial_log_sd=math.log(IMAGE_INITIAL_SD), max_sd=IMAGE_MAX_SD, annealed=True)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> Annealing | None:
        return Annealing.over(plan) if self.annealed else None

    def init(self, problem: Problem, noise: Noise) -> State:
        mean = problem.initial_weights(noise)
        params = torch.stack([mean, torch.full_like(mean, self.initial_log_sd)])
        return State(params, Adam.init(params))

    def update(
        self, problem: Problem, state: State, batch: Batch, noise: Noise, step: Step
    ) -> tuple[State, dict[str, Tensor]]:
        def negative_elbo(params: Tensor) -> Tensor:
            mean, log_sd = params.unbind()
            nll = self.sampled_nll(problem, mean, log_sd, batch, noise)
            divergence = self.divergence(problem, mean, log_sd)
            if self.tempering != 1:
                divergence = self.tempering * divergence
            return problem.n_train * nll + (annealing.weight(step) * divergence if self.annealed else divergence)

        gradient, value = grad_and_value(negative_elbo)(state.params)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr, step)
        if self.max_sd is not None:
            params = torch.stack([params[0], params[1].clamp(max=math.log(self.max_sd))])
        return State(params, optim), {"elbo": problem.elbo(value)}

    def sampled_nll(self, problem: Problem, mean: Tensor, log_sd: Tensor, batch: Batch, noise: Noise) -> Tensor:
        """Return an unbiased estimate of E_q[mean NLL of the minibatch], (), nats."""
        return problem.nll(mean + log_sd.exp() * noise.normal(problem.dim), batch)

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        """Return the divergence of q from the prior, (), nats."""
        return kl_diagonal(mean, log_sd, problem.hparams.prior_precision)

    def finish(self, problem: Problem, state: State) -> Tensor:
        return state.params

    def moments(self, problem: Problem, posterior: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_sd = posterior.unbind()
        return mean, torch.diag(torch.exp(2 * log_sd))

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        mean, log_sd = posterior.unbind()
        if self.mean_network:
            return mean[None]
        return mean + log_sd.exp() * noise.normal(n_samples, problem.dim)


class LocalMeanFieldVI(MeanFieldVI):
    """Mean-field VI that samples each example's layer outputs in training, and weights in prediction."""

    name = "mfvi-local"
    title = "Mean-field VI, local reparameterisation"
    paper = Paper("Kingma et al. 2015", "Variational Dropout and the Local Reparameterization Trick")

    def sampled_nll(self, problem: Problem, mean: Tensor, log_sd: Tensor, batch: Batch, noise: Noise) -> Tensor:
        means, variances = problem.network.split(mean), problem.network.split(torch.exp(2 * log_sd))

        def sampled_outputs(number: int, layer: Layer, h: Tensor) -> Tensor:
            if not isinstance(layer, Matrix):
                pairs = zip(means[number], variances[number], strict=True)
                return layer(tuple(m + v.sqrt() * noise.normal(len(m)) for m, v in pairs), h)
            centre = layer(means[number], h)
            variance = layer(variances[number], h**2)
            return centre + (variance + LEAST_VARIANCE).sqrt() * noise.normal(*centre.shape)

        outputs = problem.network.forward(batch.x.flatten(0, 1), sampled_outputs)
        return problem.nll_of_outputs(outputs, batch.y.flatten()).mean()


class CollapsedMeanFieldVI(MeanFieldVI):
    """Base of mean-field VI with a hierarchical prior.

    Hyper-parameters: `lr`, `penalty_weight` (eta, the coefficient of the divergence; 1 for the ELBO) and the
    likelihood's. Wei and Khardon's learning rate is 0.001, or 0.0005 on two of four data sets (appendix D).
    """

    gaussian = False
    weight_posterior = False
    wide_ranges = search_ranges.COLLAPSED_WIDE
    prior: Prior

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(5e-4, 1e-3),
            "penalty_weight": OneOf(*PENALTY_WEIGHTS),
            **task.likelihood.search_space(),
        }

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        return problem.hparams.penalty_weight * self.prior.penalty(mean, log_sd.exp())


class MeanFieldVIMean(CollapsedMeanFieldVI):
    """Infers a prior mean for each weight."""

    name = "mfvi-mean"
    title = "Mean-field VI, prior mean inferred"
    paper = Paper("Tomczak et al. 2021", "Collapsed Variational Bounds for Bayesian Neural Networks")
    prior = LearnedMean()


class MeanFieldVIMeanVariance(CollapsedMeanFieldVI):
    """Infers a prior mean and a prior variance for each weight."""

    name = "mfvi-mv"
    title = "Mean-field VI, prior mean and variance inferred"
    paper = Paper("Tomczak et al. 2021", "Collapsed Variational Bounds for Bayesian Neural Networks")
    prior = LearnedMeanAndVariance()


class MeanFieldVIEmpiricalBayes(CollapsedMeanFieldVI):
    """Estimates one prior variance per layer for its weights and one for its biases, as in the code of Wu et al."""

    name = "mfvi-eb"
    title = "Mean-field VI, empirical Bayes"
    paper = Paper("Wu et al. 2019", "Deterministic Variational Inference for Robust Bayesian Neural Networks")
    prior = EmpiricalBayes()

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        means, sds = problem.network.split(mean), problem.network.split(log_sd.exp())
        pairs = [pair for layer in zip(means, sds, strict=True) for pair in zip(*layer, strict=True)]
        total = torch.as_tensor(sum(self.prior.penalty(*pair) for pair in pairs))
        return problem.hparams.penalty_weight * total
