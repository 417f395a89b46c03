"""Base class of estimators, which fit B Gaussians side by side, each to its own stream of vectors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

WINDOW = 10  # N / M, number of training rows over minibatch size (Brownlie 2022, appendix B.2)


class FittedGaussian(NamedTuple):
    """An estimated Gaussian: mean (D,) and dense covariance (D, D), float64."""

    mean: np.ndarray  # (D,)
    covariance: np.ndarray  # (D, D)


class Fitting(ABC):
    """Base of estimators that fit a Gaussian to each of B streams of vectors, side by side.

    Results do not depend on how the streams are divided into calls of `absorb`.

    Args:
        dim: D, dimension of the vectors.
        n_factors: K, number of factors of the fitted model.
        seeds: one seed per stream.
        dtype: type of the arithmetic.
        device: device of the arithmetic.
        window: W, number of consecutive vectors per window, for estimators of window averages.

    Attributes:
        execution: how the updates are computed, one of `shared.schema.EXECUTIONS`.
    """

    execution: str = "eager"

    def __init__(
        self,
        dim: int,
        n_factors: int,
        seeds: Sequence[int],
        dtype: torch.dtype,
        device: torch.device | str = "cpu",
        window: int = WINDOW,
    ):
        self.dim, self.n_factors, self.seeds, self.dtype, self.device = dim, n_factors, seeds, dtype, device
        self.window = window

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of parameters of one estimated Gaussian."""

    @abstractmethod
    def absorb(self, vectors: Tensor) -> None:
        """Update the estimates with the next T vectors of each stream, (B, T, D)."""

    def fitted_to(self, vectors: Tensor) -> Tensor:
        """Return the vectors to which the Gaussians are fitted, given whole streams (B, T, D): by default the same.

        Window averages, for example, are fitted to averages of vectors.
        """
        return vectors

    @abstractmethod
    def estimates(self) -> list[FittedGaussian]:
        """Return the current estimate of the Gaussian of each stream."""
