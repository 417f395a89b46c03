"""What an estimator is to the engine: B Gaussians, each fitted to its own stream, side by side."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Gaussian(NamedTuple):
    """An estimate, dense and in float64."""

    mean: np.ndarray  # (D,)
    covariance: np.ndarray  # (D, D)


class Fitting(ABC):
    """B fits in lockstep; how their streams are cut into calls does not change them.

    Args:
        dim: D, of the vectors.
        n_factors: K, of the factor analysis model that is fitted.
        seeds: of each fit.
        dtype, device: of the arithmetic.
    """

    def __init__(
        self, dim: int, n_factors: int, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str = "cpu"
    ):
        self.dim, self.n_factors, self.seeds, self.dtype, self.device = dim, n_factors, seeds, dtype, device

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Numbers that describe one estimate."""

    @abstractmethod
    def absorb(self, vectors: Tensor) -> None:
        """Take in the next vectors (B, T, D) of each stream."""

    @abstractmethod
    def estimates(self) -> list[Gaussian]:
        """What each stream has led to so far."""
