"""Likelihoods: how network outputs become a distribution of the target, and back into original units."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from methods.spaces import LogUniform


class Predictive(NamedTuple):
    """S samples of the likelihood's parameters at n test points; the predictive is their equal mixture.

    For a Gaussian likelihood each component is N(mean[s, i], variance[s, i]), in original target units.
    """

    mean: Tensor  # (S, n)
    variance: Tensor  # (S, n)


@dataclass(frozen=True)
class Gaussian:
    """p(y | x, theta) = N(y; f(x; theta), 1 / beta) with one noise precision beta for all points.

    beta is the hyper-parameter `noise_precision`, always in ORIGINAL target units; on targets standardised by the
    scale s it acts as beta s^2.

    Attributes:
        noise_precisions: the range that beta is tuned over, log-uniformly, in original target units.
    """

    noise_precisions: tuple[float, float]
    n_outputs: int = 1

    def search_space(self) -> dict[str, BaseDistribution]:
        return {"noise_precision": LogUniform(*self.noise_precisions)}

    def nll(self, outputs: Tensor, y: Tensor, hparams, y_scale: Tensor) -> Tensor:
        """-log N(y; f, 1 / (beta s^2)) per example (M,), for outputs (M, 1) and y (M,) in standardised units; nats."""
        precision = hparams.noise_precision * y_scale**2
        return 0.5 * (precision * (outputs[..., 0] - y) ** 2 - precision.log() + math.log(2 * math.pi))

    def predictive(self, outputs: Tensor, hparams, y_mean: Tensor, y_scale: Tensor) -> Predictive:
        """The mixture over samples, in original units, for standardised outputs (S, n, 1)."""
        mean = y_mean + y_scale * outputs[..., 0]
        return Predictive(mean, (1 / hparams.noise_precision).expand_as(mean))
