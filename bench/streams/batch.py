"""Estimators that need no more of a stream than its count, its mean and its covariance."""

import numpy as np
import torch
from sklearn.decomposition import FactorAnalysis
from torch import Tensor

from bench.streams.fitting import Fitting, Gaussian

SKLEARN_TOL = 1e-2  # the default of its FactorAnalysis
WINDOW = 10  # N / M, training rows over minibatch (Brownlie 2022, appendix B.2)


class Empirical(Fitting):
    """The mean and the covariance (divided by T) of the vectors, from sums in float64."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        options = {"dtype": torch.float64, "device": self.device}
        n_fits = len(self.seeds)
        self._count = 0
        self._origin = torch.zeros(n_fits, 1, self.dim, **options)
        self._sum = torch.zeros(n_fits, self.dim, **options)
        self._square = torch.zeros(n_fits, self.dim, self.dim, **options)

    @property
    def n_parameters(self) -> int:
        return self.dim + self.dim * (self.dim + 1) // 2

    def absorb(self, vectors: Tensor) -> None:
        vectors = vectors.to(self.device, torch.float64)
        if not self._count:
            # Sums about a point near the mean lose no digits to its square.
            self._origin = vectors.mean(1, keepdim=True)
        deviations = vectors - self._origin
        self._count += vectors.shape[1]
        self._sum += deviations.sum(1)
        self._square.baddbmm_(deviations.mT, deviations)

    def estimates(self) -> list[Gaussian]:
        shift = self._sum / self._count
        covariance = self._square / self._count - shift[:, :, None] * shift[:, None]
        means = self._origin[:, 0] + shift
        return [Gaussian(*pair) for pair in zip(means.cpu().numpy(), covariance.cpu().numpy(), strict=True)]


class WindowAverages(Empirical):
    """The same of the averages over disjoint windows of the stream (finite-window iterate averaging)."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._left = torch.empty(len(self.seeds), 0, self.dim)

    def absorb(self, vectors: Tensor) -> None:
        vectors = torch.cat([self._left.to(vectors), vectors], dim=1)
        n_windows = vectors.shape[1] // WINDOW
        whole, self._left = vectors[:, : n_windows * WINDOW], vectors[:, n_windows * WINDOW :]
        if n_windows:
            super().absorb(whole.unflatten(1, (n_windows, WINDOW)).mean(2))


class BatchSVD(Empirical):
    """scikit-learn's FactorAnalysis with a randomised SVD and its defaults otherwise, without keeping the vectors.

    Of vectors less their mean, (T, D), the algorithm uses nothing but products that a rotation of the T rows leaves as
    they are. So it is given D + 1 rows of the same covariance, and gives the same model to rounding, in time and memory
    that do not grow with T. Where T < D scikit-learn would draw its random numbers in another space.
    """

    @property
    def n_parameters(self) -> int:
        return (self.n_factors + 2) * self.dim

    def estimates(self) -> list[Gaussian]:
        found = []
        for mean, covariance in super().estimates():
            rows = rows_of(covariance)
            # It stops when the log-likelihood of all rows gains less than the tolerance.
            tol = SKLEARN_TOL * len(rows) / self._count
            model = FactorAnalysis(self.n_factors, svd_method="randomized", tol=tol).fit(rows)
            found.append(Gaussian(mean, model.get_covariance()))
        return found


def rows_of(covariance: np.ndarray) -> np.ndarray:
    """D + 1 rows of mean zero with this covariance (D, D), divided by D + 1.

    A root sqrt(D + 1) R below a row of zeros, reflected so that the first axis falls on the vector of ones.
    """
    dim = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    root = np.vstack([np.zeros(dim), (vectors * np.sqrt((dim + 1) * values.clip(min=0))).T])
    mirror = np.full(dim + 1, -1 / np.sqrt(dim + 1))
    mirror[0] += 1
    mirror /= np.linalg.norm(mirror)
    return root - 2 * np.outer(mirror, mirror @ root)
