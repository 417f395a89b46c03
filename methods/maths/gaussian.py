"""Algebra of Gaussians whose covariance, or precision, is low-rank plus diagonal, in O(D K^2)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from methods.maths.noise import Noise

LOG_2PI = math.log(2 * math.pi)


class LowRankNormal(NamedTuple):
    """N(mean, F F^T + diag(variance)); `factors` holds the K columns of F as rows.

    Attributes:
        mean: (D,)
        factors: (K, D), F transposed; K may be 0.
        variance: (D,), positive: the diagonal part alone.
    """

    mean: Tensor
    factors: Tensor
    variance: Tensor

    def transform(self, latent: Tensor, unit: Tensor) -> Tensor:
        """Samples F h + mean + sqrt(variance) z, (S, D), of standard normal h (S, K) and z (S, D)."""
        return latent @ self.factors + self.mean + self.variance.sqrt() * unit

    def sample(self, noise: Noise, n_samples: int) -> Tensor:
        """Independent samples (S, D)."""
        k, d = self.factors.shape
        return self.transform(noise.normal(n_samples, k), noise.normal(n_samples, d))

    def covariance(self) -> Tensor:
        """The dense covariance (D, D)."""
        return self.factors.T @ self.factors + torch.diag(self.variance)

    def precision_parts(self) -> tuple[Tensor, Tensor]:
        """S^-1 F transposed, (K, D), and the diagonal of S^-1, (D,), for S = F F^T + diag(variance).

        By Woodbury with A = diag(variance)^-1 F and B = F^T A: S^-1 F = A (I + B)^-1 and
        diag(S^-1) = 1/variance - rowsum(A (I + B)^-1 * A).
        """
        scaled = self.factors / self.variance
        inverse_times_factors = inverse(capacitance(self.factors, scaled)) @ scaled
        return inverse_times_factors, 1 / self.variance - (inverse_times_factors * scaled).sum(0)

    def log_determinant(self) -> Tensor:
        """log |F F^T + diag(variance)|, ()."""
        middle = capacitance(self.factors, self.factors / self.variance)
        return self.variance.log().sum() + log_determinant(middle)

    def log_density(self, points: Tensor) -> Tensor:
        """log N(point) of each of the points (S, D): (S,), nats."""
        deviation = points - self.mean
        squared = (deviation * solve(self.factors, self.variance, deviation)).sum(-1)
        return -0.5 * (squared + self.log_determinant() + self.mean.shape[0] * LOG_2PI)

    def entropy(self) -> Tensor:
        """-E[log N(theta)], (), nats."""
        return 0.5 * (self.log_determinant() + self.mean.shape[0] * (1 + LOG_2PI))

    def kl(self, precision: Tensor) -> Tensor:
        """KL(N(mean, F F^T + diag(variance)) || N(0, I / precision)), (), nats."""
        square = self.mean.square().sum() + self.factors.square().sum() + self.variance.sum()
        return 0.5 * (precision * square - self.mean.shape[0] * (1 + precision.log()) - self.log_determinant())


class LowRankPrecision(NamedTuple):
    """N(mean, (U U^T + diag(diagonal))^-1); `factors` holds the K columns of U as rows.

    Attributes:
        mean: (D,)
        factors: (K, D), U transposed.
        diagonal: (D,), positive: the diagonal part of the precision alone.
    """

    mean: Tensor
    factors: Tensor
    diagonal: Tensor

    def solve(self, vector: Tensor) -> Tensor:
        """The covariance times each `vector` (..., D)."""
        return solve(self.factors, self.diagonal, vector)

    def transform(self, latent: Tensor, unit: Tensor) -> Tensor:
        """Samples mean + S (U h + sqrt(diagonal) z), (S, D), of standard normal h (S, K) and z (S, D).

        What the covariance S multiplies has covariance S^-1, so a sample has S S^-1 S. Woodbury's identity, taken into
        the brackets, leaves no difference of large numbers.
        """
        scaled = self.factors / self.diagonal
        remainder = latent - (unit / self.diagonal.sqrt()) @ self.factors.T
        spread = remainder @ inverse(capacitance(self.factors, scaled)) @ scaled
        return self.mean + unit / self.diagonal.sqrt() + spread

    def sample(self, noise: Noise, n_samples: int) -> Tensor:
        """Independent samples (S, D)."""
        k, d = self.factors.shape
        return self.transform(noise.normal(n_samples, k), noise.normal(n_samples, d))

    def precision(self) -> Tensor:
        """The dense precision (D, D)."""
        return self.factors.T @ self.factors + torch.diag(self.diagonal)

    def covariance(self) -> Tensor:
        """The dense covariance (D, D)."""
        return inverse(self.precision())


def solve(factors: Tensor, diagonal: Tensor, vector: Tensor) -> Tensor:
    """(F F^T + diag(diagonal))^-1 times each `vector` (..., D), by Woodbury; `factors` is F transposed, (K, D)."""
    scaled = factors / diagonal
    return vector / diagonal - vector @ scaled.T @ inverse(capacitance(factors, scaled)) @ scaled


def capacitance(factors: Tensor, scaled: Tensor) -> Tensor:
    """I + F A^T, (K, K), for F and A (K, D): the matrix in the middle of Woodbury's identity."""
    return torch.eye(factors.shape[0], dtype=factors.dtype, device=factors.device) + factors @ scaled.T


def inverse(matrix: Tensor) -> Tensor:
    """The inverse of a small matrix (K, K); for K = 1 without the cost of a factorisation per row of a stack.

    A singular matrix gives no error but numbers that are not finite, so that a row of a stack that has diverged does
    not stop its neighbours.
    """
    return 1 / matrix if matrix.shape[-1] == 1 else torch.linalg.inv_ex(matrix).inverse


def log_determinant(matrix: Tensor) -> Tensor:
    """log |matrix|, (), of a small positive definite matrix (K, K); for K = 1 without a factorisation."""
    if matrix.shape[-1] == 1:
        return matrix.log().sum()
    return 2 * torch.linalg.cholesky_ex(matrix).L.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def kl_diagonal(mean: Tensor, log_sd: Tensor, precision: Tensor) -> Tensor:
    """KL(N(mean, diag(exp(2 log_sd))) || N(0, I / precision)), (), nats, for mean and log_sd (D,)."""
    square = mean**2 + torch.exp(2 * log_sd)
    return 0.5 * (precision * square - 1 - torch.log(precision) - 2 * log_sd).sum()
