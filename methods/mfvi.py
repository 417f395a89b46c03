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

On networks for images, training is too short for log standard deviations to move far. There, they start at the prior's
log standard deviation minus three, with ten times the learning rate of the means, as in Unlu and Aitchison (2021). (If
standard deviations start at 1e-3 with the same learning rate, they stay near 1e-3 under a prior of standard deviation
0.3. Sampled networks then do not differ from the mean.)

`max_sd`, `annealed` and `initial_log_sd` allow the recipe of "Sparse Uncertainty Representation in Deep Learning with
Inducing Weights". Standard deviations have an upper bound of 0.1, as in its authors' code, and the weight of the
divergence grows from 0 (`methods.training.annealing`).
"""

import math
from typing import Any, NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    Layer,
    LogUniform,
    Matrix,
    Method,
    Noise,
    OneOf,
    Plan,
    Problem,
    Step,
    Task,
    grad_and_value,
    kl_diagonal,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.priors import PENALTY_WEIGHTS, PRIORS, Fixed
from lockstep_bench.methods.training import annealing
from lockstep_bench.methods.training.annealing import Annealing

INITIAL_LOG_SD = -3.0
IMAGE_SD_LR_RATIO = 10.0
COLLAPSED_IMAGE_PRIOR_VARIANCE = 0.05  # Wei and Khardon, appendix D: of vi-naive on images
LEAST_VARIANCE = 1e-16  # added to the variance of layer outputs, because sqrt has no derivative at 0


class MeanFieldVIState(NamedTuple):
    """State of training by mean-field VI.

    Attributes:
        params: (2, D), posterior mean and log standard deviation.
        optim: optimiser of `params`.
    """

    params: Tensor
    optim: Adam


@catalogued("mfvi")
class MeanFieldVI(Method):
    """Bayes by Backprop with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        initial_log_sd: initial log standard deviation of all weights.
        below_prior: whether `initial_log_sd` is added to the prior's log standard deviation.
        sd_lr_ratio: ratio of the learning rate of the log standard deviations to that of the means.
        max_sd: upper bound of all standard deviations, or None.
        annealed: whether the weight of the divergence grows from 0 to `tempering` (`methods.training.annealing`).
        tempering: weight of the divergence; 1 for the ELBO, less for a colder posterior.
        mean_network: whether to predict with the posterior mean of the weights alone ("VI (Mean)" of Unlu and
            Aitchison).
        mc_samples: number of weight samples per update, all on the same minibatch.
    """

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

    def init(self, problem: Problem, noise: Noise) -> MeanFieldVIState:
        mean = problem.initial_weights(noise)
        log_sd = torch.full_like(mean, self.initial_log_sd)
        if self.below_prior:
            log_sd = log_sd + self.prior_log_sd(problem)
        params = torch.stack([mean, log_sd])
        return MeanFieldVIState(params, Adam.init(params))

    def update(
        self, problem: Problem, state: MeanFieldVIState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[MeanFieldVIState, dict[str, Tensor]]:
        weight = annealing.weight(step) if self.annealed else 1.0

        def negative_elbo(params: Tensor) -> Tensor:
            mean, log_sd = params.unbind()
            nll = self.expected_nll(problem, mean, log_sd, batch, noise)
            divergence = self.tempering * self.divergence(problem, mean, log_sd)
            return problem.n_train * nll + weight * divergence

        gradient, value = grad_and_value(negative_elbo)(state.params)
        params, optim = state.optim.step(state.params, gradient, self._rates(problem), step)
        if self.annealed:  # the ELBO has the divergence in full
            value = value + (1 - weight) * self.tempering * self.divergence(problem, *state.params.unbind())
        return MeanFieldVIState(self._capped(params), optim), {"elbo": problem.elbo(value)}

    def expected_nll(self, problem: Problem, mean: Tensor, log_sd: Tensor, batch: Batch, noise: Noise) -> Tensor:
        """Return an estimate of E_q[mean NLL of the minibatch], (), nats, from `mc_samples` weight samples."""
        samples = [self.sampled_nll(problem, mean, log_sd, batch, noise) for _ in range(self.mc_samples)]
        return samples[0] if len(samples) == 1 else torch.stack(samples).mean()

    def sampled_nll(self, problem: Problem, mean: Tensor, log_sd: Tensor, batch: Batch, noise: Noise) -> Tensor:
        """Return an unbiased estimate of E_q[mean NLL of the minibatch], (), nats."""
        return problem.nll(mean + log_sd.exp() * noise.normal(problem.dim), batch)

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        """Return the divergence of N(mean, diag(exp(2 log_sd))) from the prior, (), nats."""
        return kl_diagonal(mean, log_sd, problem.hparams.prior_precision)

    def prior_log_sd(self, problem: Problem) -> Tensor:
        """Return the prior's log standard deviation, ()."""
        return -0.5 * problem.hparams.prior_precision.log()

    def finish(self, problem: Problem, state: MeanFieldVIState) -> Tensor:
        return state.params

    def diagnostics(self, problem: Problem, posterior: Tensor) -> dict[str, Tensor]:
        """Return KL(q || prior) in nats per training example, and the median of the weights' standard deviations."""
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

    def _rates(self, problem: Problem) -> Tensor:
        """Return the learning rate of both parameters, (), or of each, (2, 1)."""
        lr = problem.hparams.lr
        if self.sd_lr_ratio == 1:
            return lr
        return lr * torch.tensor([[1.0], [self.sd_lr_ratio]], dtype=lr.dtype, device=lr.device)

    def _capped(self, params: Tensor) -> Tensor:
        """Return parameters (2, D) whose standard deviations are at most `max_sd`."""
        if self.max_sd is None:
            return params
        mean, log_sd = params.unbind()
        return torch.stack([mean, log_sd.clamp(max=math.log(self.max_sd))])


@catalogued("mfvi-local")
class LocalMeanFieldVI(MeanFieldVI):
    """Mean-field VI that samples each example's layer outputs in training, and weights in prediction."""

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


@catalogued("mfvi-mean")
class CollapsedMeanFieldVI(MeanFieldVI):
    """Mean-field VI with a hierarchical prior.

    Hyper-parameters: `lr`, `penalty_weight` (eta, the coefficient of the divergence; 1 for the ELBO) and the
    likelihood's. Wei and Khardon's learning rate is 0.001, or 0.0005 on two of four data sets (appendix D).

    The variances of the fixed prior are also those of Wei and Khardon (appendix D). With the fixed prior N(0, I /
    alpha) and eta = 1, the method is `mfvi`.

    Args:
        prior: a key of `methods.maths.priors.PRIORS`.
        others: further arguments, see `MeanFieldVI`.
    """

    weight_posterior = False

    def __init__(self, prior: str = "learned-mean", **others: Any):
        super().__init__(**others)
        self.prior = PRIORS[prior]

    def suited_to(self, task: Task) -> MeanFieldVI:
        suited = super().suited_to(task)
        on_images = suited is not self
        fixed = isinstance(self.prior, Fixed)
        return suited.changed(prior=Fixed(COLLAPSED_IMAGE_PRIOR_VARIANCE)) if on_images and fixed else suited

    def prior_log_sd(self, problem: Problem) -> Tensor:
        """Return the log standard deviation of the fixed prior of vi-naive on images, ().

        Hierarchical priors use it too, at the start of training, because their own scale is still unknown.
        """
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


@catalogued("mfvi-eb")
class MeanFieldVIEmpiricalBayes(CollapsedMeanFieldVI):
    """Mean-field VI that estimates one prior variance for each layer's weights and one for its biases (Wu et al.)."""

    def divergence(self, problem: Problem, mean: Tensor, log_sd: Tensor) -> Tensor:
        means, sds = problem.network.split(mean), problem.network.split(log_sd.exp())
        pairs = [pair for layer in zip(means, sds, strict=True) for pair in zip(*layer, strict=True)]
        total = torch.as_tensor(sum(self.prior.penalty(*pair) for pair in pairs))
        return problem.hparams.penalty_weight * total
