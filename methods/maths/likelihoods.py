"""Likelihoods: how network outputs become a distribution of the target, and back into original units.

A likelihood sees targets as the engine deals them: standardised by the mean and scale of a fit's own training rows
where `standardises`, else as they are (class numbers), with mean 0 and scale 1.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.nn.functional import log_softmax, logsigmoid, softplus

from methods.maths.noise import Noise
from methods.maths.predictive import Classes, Normals, Predictive
from methods.maths.search_spaces import LogUniform

LOG_2PI = math.log(2 * math.pi)
MAX_LOG_VARIANCE = 12.0  # of a standardised target, either way: standard deviations from 0.0025 to 400


class Likelihood(Protocol):
    """What a method may ask of a likelihood.

    Attributes:
        kind: one of `KINDS`.
        standardises: whether targets are real numbers, which the engine standardises.
        n_outputs: O, network outputs that it takes.
    """

    kind: ClassVar[str]
    standardises: ClassVar[bool]

    @property
    def n_outputs(self) -> int: ...

    def search_space(self) -> dict[str, BaseDistribution]:
        """Its own hyper-parameters, in the papers' ranges."""

    def scale(self, hparams, y_scale: Tensor) -> Tensor:
        """(), what the NLL is divided by to have curvature of order one in the outputs."""

    def nll(self, outputs: Tensor, y: Tensor, hparams, y_scale: Tensor) -> Tensor:
        """-log p(y | outputs) per example (M,), nats, for outputs (M, O) and y (M,) as dealt."""

    def draw(self, outputs: Tensor, hparams, y_scale: Tensor, noise: Noise) -> Tensor:
        """A target (M,) drawn from p(y | outputs) for each example."""

    def fisher(self, outputs: Tensor, hparams, y_scale: Tensor) -> Tensor:
        """E[grad grad^T] of the NLL in the outputs under the model's own targets, per example (M, O, O)."""

    def predictive(self, outputs: Tensor, hparams, y_mean: Tensor, y_scale: Tensor) -> Predictive:
        """The mixture over samples, in original units, for outputs (S, n, O)."""


@dataclass(frozen=True)
class Gaussian:
    """p(y | x, theta) = N(y; f(x; theta), 1 / beta) with one noise precision beta for all points.

    beta is the hyper-parameter `noise_precision`, always in ORIGINAL target units; on targets standardised by the
    scale s it acts as beta s^2.

    Attributes:
        noise_precisions: the range that beta is tuned over, log-uniformly, in original target units.
    """

    noise_precisions: tuple[float, float]

    kind: ClassVar[str] = "gaussian"
    standardises: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 1

    def search_space(self) -> dict[str, BaseDistribution]:
        return {"noise_precision": LogUniform(*self.noise_precisions)}

    def scale(self, hparams, y_scale: Tensor) -> Tensor:
        return hparams.noise_precision * y_scale**2

    def nll(self, outputs: Tensor, y: Tensor, hparams, y_scale: Tensor) -> Tensor:
        precision = self.scale(hparams, y_scale)
        return 0.5 * (precision * (outputs[..., 0] - y) ** 2 - precision.log() + LOG_2PI)

    def draw(self, outputs: Tensor, hparams, y_scale: Tensor, noise: Noise) -> Tensor:
        return outputs[..., 0] + noise.normal(outputs.shape[0]) * self.scale(hparams, y_scale) ** -0.5

    def fisher(self, outputs: Tensor, hparams, y_scale: Tensor) -> Tensor:
        return self.scale(hparams, y_scale) * torch.ones_like(outputs)[..., None]

    def predictive(self, outputs: Tensor, hparams, y_mean: Tensor, y_scale: Tensor) -> Normals:
        mean = y_mean + y_scale * outputs[..., 0]
        return Normals(mean, (1 / hparams.noise_precision).expand_as(mean))


@dataclass(frozen=True)
class HeteroscedasticGaussian:
    """p(y | x, theta) = N(y; m, exp(l)) of the two outputs (m, l), in units of the standardised target.

    l is clamped to +-`MAX_LOG_VARIANCE`, which keeps the NLL Lipschitz (DirectUQ paper, appendix A.1).
    """

    kind: ClassVar[str] = "heteroscedastic"
    standardises: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 2

    def search_space(self) -> dict[str, BaseDistribution]:
        return {}

    def scale(self, hparams, y_scale: Tensor) -> Tensor:
        return torch.ones_like(y_scale)

    def nll(self, outputs: Tensor, y: Tensor, hparams, y_scale: Tensor) -> Tensor:
        mean, log_variance = self._parts(outputs)
        return 0.5 * ((mean - y) ** 2 * (-log_variance).exp() + log_variance + LOG_2PI)

    def draw(self, outputs: Tensor, hparams, y_scale: Tensor, noise: Noise) -> Tensor:
        mean, log_variance = self._parts(outputs)
        return mean + noise.normal(outputs.shape[0]) * (0.5 * log_variance).exp()

    def fisher(self, outputs: Tensor, hparams, y_scale: Tensor) -> Tensor:
        # A Gaussian's Fisher information is 1/variance for its mean and 1/2 for its log variance.
        _, log_variance = self._parts(outputs)
        inside = (outputs[..., 1].abs() < MAX_LOG_VARIANCE).to(outputs)
        return torch.diag_embed(torch.stack([(-log_variance).exp(), 0.5 * inside], dim=-1))

    def predictive(self, outputs: Tensor, hparams, y_mean: Tensor, y_scale: Tensor) -> Normals:
        mean, log_variance = self._parts(outputs)
        return Normals(y_mean + y_scale * mean, y_scale**2 * log_variance.exp())

    def _parts(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        return outputs[..., 0], outputs[..., 1].clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)


@dataclass(frozen=True)
class Bernoulli:
    """p(y = 1 | x, theta) = 1 / (1 + exp(-f(x; theta))), y in {0, 1}."""

    kind: ClassVar[str] = "bernoulli"
    standardises: ClassVar[bool] = False
    n_outputs: ClassVar[int] = 1

    def search_space(self) -> dict[str, BaseDistribution]:
        return {}

    def scale(self, hparams, y_scale: Tensor) -> Tensor:
        return torch.ones_like(y_scale)

    def nll(self, outputs: Tensor, y: Tensor, hparams, y_scale: Tensor) -> Tensor:
        return softplus(outputs[..., 0]) - y * outputs[..., 0]

    def draw(self, outputs: Tensor, hparams, y_scale: Tensor, noise: Noise) -> Tensor:
        return (noise.uniform(outputs.shape[0]) < outputs[..., 0].sigmoid()).to(outputs)

    def fisher(self, outputs: Tensor, hparams, y_scale: Tensor) -> Tensor:
        probability = outputs.sigmoid()
        return (probability * (1 - probability))[..., None]

    def predictive(self, outputs: Tensor, hparams, y_mean: Tensor, y_scale: Tensor) -> Classes:
        return Classes(torch.cat([logsigmoid(-outputs), logsigmoid(outputs)], dim=-1))


@dataclass(frozen=True)
class Categorical:
    """p(y = c | x, theta) = softmax(f(x; theta))_c, y in {0, .., C - 1}.

    Attributes:
        n_classes: C.
    """

    n_classes: int

    kind: ClassVar[str] = "categorical"
    standardises: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    def search_space(self) -> dict[str, BaseDistribution]:
        return {}

    def scale(self, hparams, y_scale: Tensor) -> Tensor:
        return torch.ones_like(y_scale)

    def nll(self, outputs: Tensor, y: Tensor, hparams, y_scale: Tensor) -> Tensor:
        return outputs.logsumexp(-1) - (outputs * self._one_hot(y)).sum(-1)

    def draw(self, outputs: Tensor, hparams, y_scale: Tensor, noise: Noise) -> Tensor:
        # Inversion of the distribution function takes one number per example where Gumbel noise would take C.
        below = outputs.softmax(-1).cumsum(-1) < noise.uniform(outputs.shape[0])[..., None]
        return below[..., :-1].sum(-1).to(outputs)

    def fisher(self, outputs: Tensor, hparams, y_scale: Tensor) -> Tensor:
        probabilities = outputs.softmax(-1)
        return torch.diag_embed(probabilities) - probabilities[..., :, None] * probabilities[..., None, :]

    def predictive(self, outputs: Tensor, hparams, y_mean: Tensor, y_scale: Tensor) -> Classes:
        return Classes(log_softmax(outputs, dim=-1))

    def _one_hot(self, y: Tensor) -> Tensor:
        return (y[..., None] == torch.arange(self.n_classes, device=y.device)).to(y)


KINDS = tuple(one.kind for one in (Gaussian, HeteroscedasticGaussian, Bernoulli, Categorical))
