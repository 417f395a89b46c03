"""Estimators of a stream's Gaussian that need only the stream's length, mean and covariance."""

from typing import Any

import numpy as np
import torch
from sklearn.decomposition import FactorAnalysis
from torch import Tensor

from lockstep_bench.bench.streams.fitting import FittedGaussian, Fitting

SKLEARN_TOL = 1e-2  # the default of its FactorAnalysis


class Empirical(Fitting):
    """Empirical mean and covariance (with divisor T) of the T vectors of each stream, from sums in float64."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        n_fits = len(self.seeds)
        self._count = 0
        self._sum = torch.zeros(n_fits, self.dim, dtype=torch.float64, device=self.device)
        self._origin = torch.zeros_like(self._sum)[:, None]
        self._square = self._sum.new_zeros(n_fits, self.dim, self.dim)

    @property
    def n_parameters(self) -> int:
        return self.dim + self.dim * (self.dim + 1) // 2

    def absorb(self, vectors: Tensor) -> None:
        vectors = vectors.to(self.device, torch.float64)
        if not self._count:
            # Sums about a point near the mean avoid cancellation.
            self._origin = vectors.mean(1, keepdim=True)
        deviations = vectors - self._origin
        self._count += vectors.shape[1]
        self._sum += deviations.sum(1)
        self._square.baddbmm_(deviations.mT, deviations)

    def estimates(self) -> list[FittedGaussian]:
        shift = self._sum / self._count
        covariance = self._square / self._count - shift[:, :, None] * shift[:, None]
        means = self._origin[:, 0] + shift
        return [FittedGaussian(*pair) for pair in zip(means.cpu().numpy(), covariance.cpu().numpy(), strict=True)]


class WindowAverages(Empirical):
    """Mean and covariance of averages over disjoint windows of each stream (finite-window iterate averaging)."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._incomplete = torch.empty(len(self.seeds), 0, self.dim)

    def absorb(self, vectors: Tensor) -> None:
        vectors = torch.cat([self._incomplete.to(vectors), vectors], dim=1)
        averages = self.fitted_to(vectors)
        self._incomplete = vectors[:, averages.shape[1] * self.window :]
        if averages.shape[1]:
            super().absorb(averages)

    def fitted_to(self, vectors: Tensor) -> Tensor:
        """Return the averages over whole windows of W vectors, (B, T // W, D), for B streams of T vectors (B, T, D)."""
        n_windows = vectors.shape[1] // self.window
        averages: Tensor = vectors[:, : n_windows * self.window].unflatten(1, (n_windows, self.window)).mean(2)
        return averages


class BatchSVD(Empirical):
    """Factor analysis by scikit-learn (randomised SVD, default settings), without storing the vectors.

    The algorithm depends on the centred vectors (T, D) only through products that are invariant under rotations of the
    T rows. It is therefore run on D + 1 rows with the same covariance. The resulting model is the same up to rounding,
    and time and memory do not grow with T. (For T < D the result can differ, because scikit-learn would draw other
    random numbers.)
    """

    @property
    def n_parameters(self) -> int:
        return (self.n_factors + 2) * self.dim

    def estimates(self) -> list[FittedGaussian]:
        gaussians = []
        for mean, covariance in super().estimates():
            rows = rows_with_covariance(covariance)
            # scikit-learn's stopping rule compares the tolerance with the log-likelihood summed over rows.
            tol = SKLEARN_TOL * len(rows) / self._count
            model = FactorAnalysis(self.n_factors, svd_method="randomized", tol=tol).fit(rows)
            gaussians.append(FittedGaussian(mean, model.get_covariance()))
        return gaussians


def rows_with_covariance(covariance: np.ndarray) -> np.ndarray:
    """Return D + 1 rows of mean zero, (D + 1, D), whose covariance (with divisor D + 1) is `covariance` (D, D).

    The rows are a matrix root of (D + 1) `covariance` below a row of zeros, multiplied by the reflection that maps the
    first unit vector to the direction of (1, ..., 1).
    """
    dim = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    root = np.vstack([np.zeros(dim), (vectors * np.sqrt((dim + 1) * values.clip(min=0))).T])
    mirror = np.full(dim + 1, -1 / np.sqrt(dim + 1))
    mirror[0] += 1
    mirror /= np.linalg.norm(mirror)
    reflected: np.ndarray = root - 2 * np.outer(mirror, mirror @ root)
    return reflected
