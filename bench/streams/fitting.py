"""Interface of the estimators: B Gaussians fitted side by side, each to its own stream."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

WINDOW = 10  # N / M, number of training rows over minibatch size (Brownlie 2022, appendix B.2)


class FittedGaussian(NamedTuple):
    """An estimated Gaussian, dense and in float64."""

    mean: np.ndarray  # (D,)
    covariance: np.ndarray  # (D, D)


class Fitting(ABC):
    """B fits in lockstep. Results do not depend on how the streams are divided into calls of `absorb`.

    Args:
        dim: D, dimension of the vectors.
        n_factors: K, number of factors of the fitted model.
        seeds: one seed per fit.
        dtype: type of the arithmetic.
        device: device of the arithmetic.
        window: W, consecutive vectors that estimators of window averages average.

    Attributes:
        execution: how vectors are absorbed, one of `shared.schema.EXECUTIONS`.
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
        """Number of parameters of one estimate."""

    @abstractmethod
    def absorb(self, vectors: Tensor) -> None:
        """Update the fits with the next vectors (B, T, D) of each stream."""

    def fitted_to(self, vectors: Tensor) -> Tensor:
        """Return what the fits are made to, of the vectors (B, T, D) of whole streams: by default the vectors."""
        return vectors

    @abstractmethod
    def estimates(self) -> list[FittedGaussian]:
        """Return the current estimate of each fit."""
