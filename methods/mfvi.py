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
  (`methods.maths.priors`), and `mfvi-naive` by eta times the KL from a fixed prior. They are vi-mean, vi-mv, vi-eb and
  vi-naive of Wei and Khardon.

On networks for images, training is short against what log standard deviations have to move. There, they start at three
below the prior's and have ten times the learning rate of the means, as in Unlu and Aitchison (2021). `max_sd`,
`annealed` and `initial_log_sd` make the recipe of "Sparse Uncertainty Representation in Deep Learning with Inducing
Weights": an upper bound of 0.1, which its authors' code has, and a divergence whose weight grows from 0
(`methods.training.annealing`). A start at 1e-3 with equal rates leaves standard deviations near 1e-3 under a prior's
of 0.3, so that sampled networks do not differ from the mean.
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods import search_ranges
from lockstep_bench.methods.base import Method, Paper, Plan
from lockstep_bench.methods.maths.gaussian import kl_diagonal
from lockstep_bench.methods.maths.gradients import grad_and_value
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.priors import (
    PENALTY_WEIGHTS,
    EmpiricalBayes,
    Fixed,
    LearnedMean,
    LearnedMeanAndVariance,
    Prior,
)
from lockstep_bench.methods.maths.search_spaces import LogUniform, OneOf
from lockstep_bench.methods.networks.layers import Layer, Matrix
from lockstep_bench.methods.problem import Batch, Problem, Step, Task
from lockstep_bench.methods.training import annealing
from lockstep_bench.methods.training.annealing import Annealing
from lockstep_bench.methods.training.optim import Adam

INITIAL_LOG_SD = -3.0
IMAGE_SD_LR_RATIO = 10.0
COLLAPSED_IMAGE_PRIOR_VARIANCE = 0.05  # Wei and Khardon, appendix D: of vi-naive on images
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
        below_prior: whether `initial_log_sd` is relative to the prior's log standard deviation.
        sd_lr_ratio: learning rate of the log standard deviations over that of the means.
        max_sd: upper bound of all standard deviations, or None.
        annealed: whether the weight of the divergence grows from 0 to `tempering` (`methods.training.annealing`).
        tempering: weight of the divergence; 1 for the ELBO, less for a colder posterior.
        mean_network: whether to predict with the posterior mean alone, as "VI (Mean)" of Unlu and Aitchison does.
        mc_samples: weight samples per update, all of which see the same minibatch.
    """

    name = "mfvi"
    title = "Mean-field VI"
    paper = Paper("Blundell et al. 2015", "Weight Uncertainty in Neural Networks")

    covariance = "diagonal"

    def __init__(
        self,
        initial_log_sd: float = INITIAL_LOG_SD,
        max_sd: float | None = None,
        annealed: bool = False,
        tempering: float = 1.0,
        mean_network: bool = False,
        below_prior: bool = False,
        sd_lr_ratio: float = 1.0,
        mc_samples: int = 1,
    ):
        self.initial_log_sd = initial_log_sd
        self.below_prior = below_prior
        self.sd_lr_ratio = sd_lr_ratio
        self.max_sd = max_sd
        self.annealed = annealed
        self.tempering = tempering
        if tempering != 1:  # a tempered posterior is not the exact one
            self.weight_posterior = False
        self.mean_network = mean_network
        self.mc_samples = mc_samples

    def suited_to(self, task: Task) -> "MeanFieldVI":
        if self.network(task).image is None:
            return self
        return self.changed(below_prior=True, sd_lr_ratio=IMAGE_SD_LR_RATIO)

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
        log_sd = torch.full_like(mean, self.initial_log_sd)
        if self.below_prior:
            log_sd = log_sd + self.prior_log_sd(problem)
        params = torch.stack([mean, log_sd])
        return State(params, Adam.init(params))

    def update(
        self, problem: Problem, state: State, batch: Batch, noise: Noise, step: Step
    ) -> tuple[State, dict[str, Tensor]]:
        def negative_elbo(params: Tensor) -> Tensor:
            mean, log_sd = params.unbind()
            samples = [self.sampled_nll(problem, mean, log_sd, batch, noise) for _ in range(self.mc_samples)]
            nll = samples[0] if len(samples) == 1 else torch.stack(samples).mean()
            divergence = self.divergence(problem, mean, log_sd)
            if self.tempering != 1:
                divergence = self.tempering * divergence
            return problem.n_train * nll + (annealing.weight(step) * divergence if self.annealed else divergence)

        gradient, value = grad_and_value(negative_elbo)(state.params)
        lr = problem.hparams.lr
        if self.sd_lr_ratio != 1:
            lr = lr * torch.tensor([[1.0], [self.sd_lr_ratio]], dtype=value.dtype, device=value.device)
        params, optim = state.optim.step(state.params, gradient, lr, step)
        if self.max_sd is not None:
            params = torch.stack([params[0], params[1].clamp(max=math.log(self.max_sd))])
        if self.annealed:
            divergence = self.divergence(problem, *state.params.unbind())
            value = value + (1 - annealing.weight(step)) * self.tempering * divergence
        return State(params, optim), {"elbo": problem.elbo(value)}

    def sampled_nll(self, problem: Problem, mean: Tensor, log_sd: Tensor, batch: Batch, noise: Noise) -> Tensor:
        """Return an unbiased estimate of E_q[mean NLL of the minibatch], (), nats."""
        return problem.nll(mean + log_sd.exp() * noise.normal(problem.dim), batch)

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        """Return the divergence of q from the prior, (), nats."""
        return kl_diagonal(mean, log_sd, problem.hparams.prior_precision)

    def prior_log_sd(self, problem: Problem) -> Tensor:
        """Return the prior's log standard deviation, ()."""
        return -0.5 * problem.hparams.prior_precision.log()

    def finish(self, problem: Problem, state: State) -> Tensor:
        return state.params

    def diagnostics(self, problem: Problem, posterior: Tensor) -> dict[str, Tensor]:
        """Return the divergence in nats per training example, and the median of the standard deviations."""
        mean, log_sd = posterior.unbind()
        divergence = self.divergence(problem, mean, log_sd) / problem.n_train
        return {"kl": divergence, "tempered_kl": self.tempering * divergence, "median_sd": log_sd.median().exp()}

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

    weight_posterior = False
    wide_ranges = search_ranges.COLLAPSED_WIDE
    prior: Prior

    def prior_log_sd(self, problem: Problem) -> Tensor:
        """Return the log standard deviation of the prior of vi-naive, (); the inferred priors start without a scale."""
        return 0.5 * torch.full_like(problem.n_train, COLLAPSED_IMAGE_PRIOR_VARIANCE).log()

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(5e-4, 1e-3),
            "penalty_weight": OneOf(*PENALTY_WEIGHTS),
            **task.likelihood.search_space(),
        }

    def diagnostics(self, problem: Problem, posterior: Tensor) -> dict[str, Tensor]:
        reported = super().diagnostics(problem, posterior)
        return reported | {"kl": reported["kl"] / problem.hparams.penalty_weight}

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        return problem.hparams.penalty_weight * self.prior.penalty(mean, log_sd.exp())


class NaiveMeanFieldVI(CollapsedMeanFieldVI):
    """Weights the KL from the fixed prior N(0, 0.1 I), and N(0, 0.05 I) on images, by eta.

    Both variances are those of Wei and Khardon (appendix D). With eta = 1 and equal variances it is `mfvi`.
    """

    name = "mfvi-naive"
    title = "Mean-field VI, fixed prior, tempered"
    paper = Paper("Blundell et al. 2015", "Weight Uncertainty in Neural Networks")
    prior = Fixed(variance=0.1)
    suites = ()

    def suited_to(self, task: Task) -> MeanFieldVI:
        suited = super().suited_to(task)
        return self if suited is self else suited.changed(prior=Fixed(COLLAPSED_IMAGE_PRIOR_VARIANCE))


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
