"""Likelihoods p(y | f(x; theta)): negative log-likelihood, sampling, Fisher information and predictive distribution.

Real-valued targets are standardised: y = (original - y_mean) / y_scale, with the mean and scale of the fit's own
training rows. Class numbers stay as they are; then y_mean = 0 and y_scale = 1. Predictive distributions are in original
target units.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar, Protocol

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.nn.functional import log_softmax, logsigmoid, softplus

from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive, StudentT
from lockstep_bench.methods.maths.search_spaces import LogUniform
from lockstep_bench.methods.maths.special import log_gamma_ratio

LOG_2PI = math.log(2 * math.pi)
DEGREES_OF_FREEDOM = (2.1, 50.0)  # from tails so heavy that the variance is barely finite, to nearly Gaussian ones
MAX_LOG_VARIANCE = 12.0  # bounds |log variance| of a standardised target: standard deviations from 0.0025 to 403


class Likelihood(Protocol):
    """Interface of a likelihood.

    Shapes: M examples of a minibatch, S weight samples, n test points, O network outputs per example. `hparams` holds
    the fit's hyper-parameters, each a tensor ().

    Attributes:
        kind: name of the likelihood, one of `KINDS`.
        standardises: True if targets are real numbers, which the engine standardises; False for class numbers.
        n_outputs: O, the number of network outputs per example.
    """

    kind: ClassVar[str]
    standardises: ClassVar[bool]

    @property
    def n_outputs(self) -> int:
        """O, the number of network outputs per example."""

    def search_space(self) -> dict[str, BaseDistribution]:
        """Return the search space of the likelihood's hyper-parameters, with ranges from the methods' papers."""

    def scale(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        """Return the expected curvature of the NLL in the outputs, (), if it is the same at all outputs; else 1."""

    def nll(self, outputs: Tensor, y: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        """Return -log p(y | outputs) per example, (M,), nats, for outputs (M, O) and standardised y (M,)."""

    def draw(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor, noise: Noise) -> Tensor:
        """Draw one standardised target per example, (M,), from p(y | outputs) for outputs (M, O)."""

    def fisher(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        """Return the Fisher information of the outputs per example, (M, O, O): E[g g^T] for g = d NLL / d outputs.

        The expectation is over targets y ~ p(y | outputs) of the model.
        """

    def predictive(self, outputs: Tensor, hparams: SimpleNamespace, y_mean: Tensor, y_scale: Tensor) -> Predictive:
        """Return the predictive distribution in original target units, given outputs (S, n, O) of S weight samples."""


@dataclass(frozen=True)
class Gaussian:
    """p(y | x, theta) = N(y; f(x; theta), 1 / beta) with one noise precision beta for all points.

    The hyper-parameter `noise_precision` is beta in ORIGINAL target units. The noise precision of a standardised target
    is beta y_scale^2.

    Attributes:
        noise_precisions: lowest and highest beta of the search space, in original target units; log-uniform.
    """

    noise_precisions: tuple[float, float]

    kind: ClassVar[str] = "gaussian"
    standardises: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 1

    def search_space(self) -> dict[str, BaseDistribution]:
        return {"noise_precision": LogUniform(*self.noise_precisions)}

    def scale(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        precision: Tensor = hparams.noise_precision * y_scale**2
        return precision

    def nll(self, outputs: Tensor, y: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        precision = self.scale(hparams, y_scale)
        return 0.5 * (precision * (outputs[..., 0] - y) ** 2 - precision.log() + LOG_2PI)

    def draw(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor, noise: Noise) -> Tensor:
        return outputs[..., 0] + noise.normal(outputs.shape[0]) * self.scale(hparams, y_scale) ** -0.5

    def fisher(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return self.scale(hparams, y_scale) * torch.ones_like(outputs)[..., None]

    def predictive(self, outputs: Tensor, hparams: SimpleNamespace, y_mean: Tensor, y_scale: Tensor) -> Normals:
        mean = y_mean + y_scale * outputs[..., 0]
        return Normals(mean, (1 / hparams.noise_precision).expand_as(mean))


@dataclass(frozen=True)
class HeteroscedasticGaussian:
    """p(y | x, theta) = N(y; m, exp(l)), where y is standardised and (m, l) are the network's two outputs.

    The log variance l is clamped to [-`MAX_LOG_VARIANCE`, `MAX_LOG_VARIANCE`], which keeps the NLL Lipschitz
    (Wei and Khardon, appendix A.1).
    """

    kind: ClassVar[str] = "heteroscedastic"
    standardises: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 2

    def search_space(self) -> dict[str, BaseDistribution]:
        return {}

    def scale(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return torch.ones_like(y_scale)

    def nll(self, outputs: Tensor, y: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        mean, log_variance = self._mean_and_log_variance(outputs)
        return 0.5 * ((mean - y) ** 2 * (-log_variance).exp() + log_variance + LOG_2PI)

    def draw(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor, noise: Noise) -> Tensor:
        mean, log_variance = self._mean_and_log_variance(outputs)
        return mean + noise.normal(outputs.shape[0]) * (0.5 * log_variance).exp()

    def fisher(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        # The Fisher information of a Gaussian is 1 / variance for its mean and 1/2 for its log variance.
        _, log_variance = self._mean_and_log_variance(outputs)
        inside = (outputs[..., 1].abs() < MAX_LOG_VARIANCE).to(outputs)
        return torch.diag_embed(torch.stack([(-log_variance).exp(), 0.5 * inside], dim=-1))

    def predictive(self, outputs: Tensor, hparams: SimpleNamespace, y_mean: Tensor, y_scale: Tensor) -> Normals:
        mean, log_variance = self._mean_and_log_variance(outputs)
        return Normals(y_mean + y_scale * mean, y_scale**2 * log_variance.exp())

    def _mean_and_log_variance(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        return outputs[..., 0], outputs[..., 1].clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)


@dataclass(frozen=True)
class StudentTNoise:
    """y = f(x; theta) + T / sqrt(beta), where T has Student's t distribution with nu degrees of freedom.

    Heavy tails make the posterior robust: the gradient of the NLL tends to 0 with the distance of y from f. beta and nu
    are the same for all points. The hyper-parameter `noise_df` is nu, and `noise_precision` is beta, in ORIGINAL target
    units. For large nu this tends to the likelihood `Gaussian` with the same beta. The standard deviation of the noise
    is sqrt(nu / ((nu - 2) beta)).

    Attributes:
        noise_precisions: lowest and highest beta of the search space, in original target units; log-uniform.
    """

    noise_precisions: tuple[float, float]

    kind: ClassVar[str] = "student-t"
    standardises: ClassVar[bool] = True
    n_outputs: ClassVar[int] = 1

    def search_space(self) -> dict[str, BaseDistribution]:
        return {"noise_precision": LogUniform(*self.noise_precisions), "noise_df": LogUniform(*DEGREES_OF_FREEDOM)}

    def scale(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        fisher: Tensor = (hparams.noise_df + 1) / (hparams.noise_df + 3) * self._precision(hparams, y_scale)
        return fisher

    def nll(self, outputs: Tensor, y: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        df, precision = hparams.noise_df, self._precision(hparams, y_scale)
        constant = 0.5 * ((math.pi * df).log() - precision.log()) - log_gamma_ratio(0.5 * df)
        squares = precision / df * (outputs[..., 0] - y) ** 2
        nll: Tensor = constant + 0.5 * (df + 1) * torch.log1p(squares)
        return nll

    def draw(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor, noise: Noise) -> Tensor:
        # Bailey 1994: with normal Z_1 and Z_2, and q = (Z_1^2 + Z_2^2) / nu, T = Z_1 sqrt((exp(q) - 1) / q).
        normal, other = noise.normal(2, outputs.shape[0]).unbind()
        q = (normal**2 + other**2) / hparams.noise_df
        drawn: Tensor = outputs[..., 0] + normal * (torch.expm1(q) / q / self._precision(hparams, y_scale)).sqrt()
        return drawn

    def fisher(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return self.scale(hparams, y_scale) * torch.ones_like(outputs)[..., None]

    def predictive(self, outputs: Tensor, hparams: SimpleNamespace, y_mean: Tensor, y_scale: Tensor) -> StudentT:
        location = y_mean + y_scale * outputs[..., 0]
        scale = hparams.noise_precision**-0.5
        return StudentT(hparams.noise_df.expand_as(location), location, scale.expand_as(location))

    def _precision(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        precision: Tensor = hparams.noise_precision * y_scale**2
        return precision


@dataclass(frozen=True)
class Bernoulli:
    """p(y = 1 | x, theta) = 1 / (1 + exp(-f(x; theta))), y in {0, 1}."""

    kind: ClassVar[str] = "bernoulli"
    standardises: ClassVar[bool] = False
    n_outputs: ClassVar[int] = 1

    def search_space(self) -> dict[str, BaseDistribution]:
        return {}

    def scale(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return torch.ones_like(y_scale)

    def nll(self, outputs: Tensor, y: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return softplus(outputs[..., 0]) - y * outputs[..., 0]

    def draw(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor, noise: Noise) -> Tensor:
        return (noise.uniform(outputs.shape[0]) < outputs[..., 0].sigmoid()).to(outputs)

    def fisher(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        probability = outputs.sigmoid()
        return (probability * (1 - probability))[..., None]

    def predictive(self, outputs: Tensor, hparams: SimpleNamespace, y_mean: Tensor, y_scale: Tensor) -> Classes:
        return Classes(torch.cat([logsigmoid(-outputs), logsigmoid(outputs)], dim=-1))


@dataclass(frozen=True)
class Categorical:
    """p(y = c | x, theta) = softmax(f(x; theta))_c, y in {0, .., C - 1}.

    Attributes:
        n_classes: C, the number of classes.
    """

    n_classes: int

    kind: ClassVar[str] = "categorical"
    standardises: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    def search_space(self) -> dict[str, BaseDistribution]:
        return {}

    def scale(self, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return torch.ones_like(y_scale)

    def nll(self, outputs: Tensor, y: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        return outputs.logsumexp(-1) - (outputs * self._one_hot(y)).sum(-1)

    def draw(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor, noise: Noise) -> Tensor:
        # Inverse-CDF sampling needs one random number per example; the Gumbel-max trick would need C.
        below = outputs.softmax(-1).cumsum(-1) < noise.uniform(outputs.shape[0])[..., None]
        return below[..., :-1].sum(-1).to(outputs)

    def fisher(self, outputs: Tensor, hparams: SimpleNamespace, y_scale: Tensor) -> Tensor:
        probabilities = outputs.softmax(-1)
        return torch.diag_embed(probabilities) - probabilities[..., :, None] * probabilities[..., None, :]

    def predictive(self, outputs: Tensor, hparams: SimpleNamespace, y_mean: Tensor, y_scale: Tensor) -> Classes:
        # Along a last axis of ten classes, torch takes eight times as long on a CPU.
        return Classes(log_softmax(outputs.movedim(-1, 0), dim=0).movedim(0, -1))

    def _one_hot(self, y: Tensor) -> Tensor:
        return (y[..., None] == torch.arange(self.n_classes, device=y.device)).to(y)


KINDS = tuple(
    likelihood.kind for likelihood in (Gaussian, HeteroscedasticGaussian, StudentTNoise, Bernoulli, Categorical)
)
