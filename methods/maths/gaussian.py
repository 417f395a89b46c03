"""Gaussians whose covariance, or precision, is low-rank plus diagonal.

For K factors in D dimensions, every operation but the dense matrices takes O(D K^2) time and O(D K) memory, by the
Woodbury identity and the matrix determinant lemma:

    (F F^T + Psi)^-1 = Psi^-1 - Psi^-1 F (I + F^T Psi^-1 F)^-1 F^T Psi^-1,
    |F F^T + Psi|    = |Psi| |I + F^T Psi^-1 F|.

The K x K matrix I + F^T Psi^-1 F is called the capacitance. All functions can be batched by `torch.func.vmap`. A
singular or indefinite matrix gives non-finite numbers instead of an error, so that one diverged fit of a stack does not
stop the others (`torch.distributions.LowRankMultivariateNormal` would raise).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.maths.noise import Noise

LOG_2PI = math.log(2 * math.pi)


class LowRankNormal(NamedTuple):
    """The Gaussian N(mean, F F^T + diag(variance)).

    Attributes:
        mean: (D,), mean of the Gaussian.
        factors: (K, D), F^T: one factor per row. K may be 0.
        variance: (D,), positive, the diagonal added to F F^T.
    """

    mean: Tensor
    factors: Tensor
    variance: Tensor

    def transform(self, latent: Tensor, unit: Tensor) -> Tensor:
        """Return samples mean + F h + sqrt(variance) z, (S, D), for standard normal h (S, K) and z (S, D)."""
        return latent @ self.factors + self.mean + self.variance.sqrt() * unit

    def sample(self, noise: Noise, n_samples: int) -> Tensor:
        """Draw independent samples (S, D)."""
        k, d = self.factors.shape
        return self.transform(noise.normal(n_samples, k), noise.normal(n_samples, d))

    def covariance(self) -> Tensor:
        """Return the dense covariance (D, D)."""
        return self.factors.T @ self.factors + torch.diag(self.variance)

    def precision_parts(self) -> tuple[Tensor, Tensor]:
        """Return C^-1 F and the diagonal of the precision matrix C^-1, without forming C^-1.

        With the covariance C = F F^T + diag(variance), (D, D), and A = diag(variance)^-1 F, (D, K):

            C^-1 F = A (I + F^T A)^-1,      diag(C^-1) = 1 / variance - rowsum(C^-1 F * A).

        Returns:
            (C^-1 F)^T, (K, D), and diag(C^-1), (D,).
        """
        scaled = self.factors / self.variance
        inverse_times_factors = inverse(capacitance(self.factors, scaled)) @ scaled
        return inverse_times_factors, 1 / self.variance - (inverse_times_factors * scaled).sum(0)

    def log_determinant(self) -> Tensor:
        """Return log |F F^T + diag(variance)|, ()."""
        middle = capacitance(self.factors, self.factors / self.variance)
        return self.variance.log().sum() + log_determinant(middle)

    def log_density(self, points: Tensor) -> Tensor:
        """Return the log density at each of the points (S, D): (S,), nats."""
        deviation = points - self.mean
        squared = (deviation * solve(self.factors, self.variance, deviation)).sum(-1)
        return -0.5 * (squared + self.log_determinant() + self.mean.shape[0] * LOG_2PI)

    def entropy(self) -> Tensor:
        """Return the differential entropy, (), nats."""
        return 0.5 * (self.log_determinant() + self.mean.shape[0] * (1 + LOG_2PI))

    def kl(self, precision: Tensor) -> Tensor:
        """Return KL(N(mean, F F^T + diag(variance)) || N(0, I / precision)), (), nats, for precision ()."""
        square = self.mean.square().sum() + self.factors.square().sum() + self.variance.sum()
        return 0.5 * (precision * square - self.mean.shape[0] * (1 + precision.log()) - self.log_determinant())


class LowRankPrecision(NamedTuple):
    """The Gaussian N(mean, (U U^T + diag(diagonal))^-1).

    Attributes:
        mean: (D,), mean of the Gaussian.
        factors: (K, D), U^T: one factor per row.
        diagonal: (D,), positive, the diagonal added to U U^T.
    """

    mean: Tensor
    factors: Tensor
    diagonal: Tensor

    def solve(self, vector: Tensor) -> Tensor:
        """Return the covariance times each `vector` (..., D)."""
        return solve(self.factors, self.diagonal, vector)

    def transform(self, latent: Tensor, unit: Tensor) -> Tensor:
        """Return samples mean + C (U h + sqrt(diagonal) z), (S, D), for standard normal h (S, K) and z (S, D).

        The bracket has covariance C^-1, so its product with C has covariance C. The Woodbury identity is applied to
        the product as a whole, which avoids the difference of two large terms.
        """
        scaled = self.factors / self.diagonal
        remainder = latent - (unit / self.diagonal.sqrt()) @ self.factors.T
        spread = remainder @ inverse(capacitance(self.factors, scaled)) @ scaled
        return self.mean + unit / self.diagonal.sqrt() + spread

    def sample(self, noise: Noise, n_samples: int) -> Tensor:
        """Draw independent samples (S, D)."""
        k, d = self.factors.shape
        return self.transform(noise.normal(n_samples, k), noise.normal(n_samples, d))

    def kl(self, precision: Tensor) -> Tensor:
        """Return KL(N(mean, C) || N(0, diag(1 / precision))), (), nats, for precisions (D,) or (), in O(D K^2).

        With A = diag(diagonal)^-1 U, the diagonal of C is 1 / diagonal - rowsum(A (I + U^T A)^-1 * A).
        """
        scaled = self.factors / self.diagonal
        middle = capacitance(self.factors, scaled)
        variances = 1 / self.diagonal - ((inverse(middle) @ scaled) * scaled).sum(0)
        log_determinant_of_precision = self.diagonal.log().sum() + log_determinant(middle)
        precisions = precision.expand_as(self.mean)
        square = (precisions * (self.mean.square() + variances)).sum()
        return 0.5 * (square - self.mean.shape[0] - precisions.log().sum() + log_determinant_of_precision)

    def precision(self) -> Tensor:
        """Return the dense precision (D, D)."""
        return self.factors.T @ self.factors + torch.diag(self.diagonal)

    def covariance(self) -> Tensor:
        """Return the dense covariance (D, D), in O(D^3)."""
        return inverse(self.precision())


def solve(factors: Tensor, diagonal: Tensor, vector: Tensor) -> Tensor:
    """Return (F F^T + diag(diagonal))^-1 times each `vector` (..., D), for `factors` F^T (K, D)."""
    scaled = factors / diagonal
    return vector / diagonal - vector @ scaled.T @ inverse(capacitance(factors, scaled)) @ scaled


def capacitance(factors: Tensor, scaled: Tensor) -> Tensor:
    """Return the capacitance I + F^T A, (K, K), for `factors` F^T and `scaled` A^T = (Psi^-1 F)^T, both (K, D)."""
    return torch.eye(factors.shape[0], dtype=factors.dtype, device=factors.device) + factors @ scaled.T


def inverse(matrix: Tensor) -> Tensor:
    """Return the inverse of a square matrix, (K, K); a singular one gives non-finite numbers.

    A 1 x 1 matrix is inverted by division. In a stack of fits this saves one factorisation per fit.
    """
    if matrix.shape[-1] == 1:
        return 1 / matrix
    inverted: Tensor = torch.linalg.inv_ex(matrix).inverse
    return inverted


def log_determinant(matrix: Tensor) -> Tensor:
    """Return log |matrix|, (), of a positive definite matrix (K, K), by Cholesky factorisation unless K = 1."""
    if matrix.shape[-1] == 1:
        return matrix.log().sum()
    cholesky: Tensor = torch.linalg.cholesky_ex(matrix).L
    return 2 * cholesky.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def top_eigenpairs(matrix: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalues, (k,), and their eigenvectors, (n, k), of a positive semi-definite matrix (n, n).

    Eigenvalues are in ascending order. The largest entry of each eigenvector is positive; otherwise rounding would
    decide its sign. The function never raises, because an error would stop all fits of a stack.
    """
    # The decomposition fails for non-finite entries, and may not converge where squares of entries overflow or vanish.
    # Neither the scaling nor the shift changes its eigenvectors.
    largest = matrix.diagonal().amax()
    unit = (matrix / largest).nan_to_num(0, 0, 0)
    shift = torch.finfo(unit.dtype).eps * torch.eye(len(unit), dtype=unit.dtype, device=unit.device)
    values: Tensor
    vectors: Tensor
    values, vectors = torch.linalg.eigh(unit + shift)
    top = vectors[:, -k:]
    return values[-k:].clamp(min=0) * largest, top * top.gather(0, top.abs().argmax(0, keepdim=True)).sign()


def kl_diagonal(mean: Tensor, log_sd: Tensor, precision: Tensor) -> Tensor:
    """Return KL(N(mean, diag(exp(2 log_sd))) || N(0, I / precision)), (), nats, for mean and log_sd (D,)."""
    square = mean**2 + torch.exp(2 * log_sd)
    return 0.5 * (precision * square - 1 - torch.log(precision) - 2 * log_sd).sum()
