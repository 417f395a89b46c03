"""Distances of a Gaussian approximation from a reference posterior, computed with dense matrices."""

from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky

SINGLE_CUT = 1e3 * 1.1920929e-07  # of the released root: a thousand units of rounding of float32


class GaussianTarget:
    """Mean and covariance of a reference posterior, factorised once for comparison with many approximations.

    Args:
        mean: (D,), mean of the weights.
        covariance: (D, D), covariance of the weights, symmetric and positive semi-definite.
        n_apart: number of weights at the end of the vector that are compared only by their mean, such as a bias
            (`Model.bias`).
    """

    def __init__(self, mean: np.ndarray, covariance: np.ndarray, n_apart: int = 0):
        self._whole_mean = np.asarray(mean, float)
        self._compared = slice(len(mean) - n_apart)
        self.mean = self._whole_mean[self._compared]
        self.covariance = self._block(np.asarray(covariance, float))

    def relative_mean(self, mean: np.ndarray) -> float:
        """Return ||mean - reference|| / ||reference||, for a mean (D,)."""
        return relative_distance(mean, self._whole_mean)

    def relative_covariance(self, covariance: np.ndarray) -> float:
        """Return ||covariance - reference|| / ||reference|| in the Frobenius norm, for a covariance (D, D)."""
        return relative_distance(self._block(covariance), self.covariance)

    def scaled_wasserstein(self, mean: np.ndarray, covariance: np.ndarray) -> float:
        """Return the 2-Wasserstein distance between N(mean, covariance) and the reference, divided by D.

        The distance W between N(m1, S1) and N(m2, S2) is given by W^2 = |m1 - m2|^2 + tr(S1) + tr(S2) - 2 tr((R^T S1
        R)^1/2) for any root R R^T = S2. Brownlie 2022 and the VIFA paper also divide W by D.
        """
        mean, covariance = mean[self._compared], self._block(covariance)
        overlap = np.linalg.eigvalsh(self._root.T @ covariance @ self._root).clip(min=0)
        traces = np.trace(covariance) + np.trace(self.covariance)
        square = np.square(mean - self.mean).sum() + traces - 2 * np.sqrt(overlap).sum()
        return float(np.sqrt(max(square, 0.0)) / len(self.mean))

    def scaled_wasserstein_single(self, mean: np.ndarray, covariance: np.ndarray) -> float:
        """Return `scaled_wasserstein` with the rounding of the code of the VIFA paper and the thesis.

        That code computes in single precision. Its matrix roots drop eigenvalues below the fraction `SINGLE_CUT` of the
        largest (experiments/utils/metrics.py in ayeright/swafa). The result is too large if variances differ much.
        """
        mean, covariance = mean[self._compared], self._block(covariance).astype(np.float32)
        reference = self.covariance.astype(np.float32)
        root = _single_root(covariance)
        spread = np.trace(covariance + reference - 2 * _single_root(root @ reference @ root))
        square = np.square(mean.astype(np.float32) - self.mean.astype(np.float32)).sum() + spread
        return float(np.sqrt(max(square, np.float32(0))) / len(self.mean))

    def kl(self, mean: np.ndarray, covariance: np.ndarray) -> float:
        """Return KL(N(mean, covariance) || reference) in nats; infinite where either covariance is singular.

        The divergence is (tr(T^-1 S) + d^T T^-1 d - D + log |T| - log |S|) / 2. Here S is the given covariance, T the
        covariance of the reference, and d the difference of the means.
        """
        if self._factor is None:
            return float("inf")
        mean, covariance = mean[self._compared], self._block(covariance)
        try:
            factor = cholesky(covariance, lower=True)
        except np.linalg.LinAlgError:
            return float("inf")
        deviation = mean - self.mean
        square = np.trace(cho_solve(self._factor, covariance)) + deviation @ cho_solve(self._factor, deviation)
        log_determinants = 2 * (np.log(np.diag(self._factor[0])).sum() - np.log(np.diag(factor)).sum())
        return float(0.5 * (square - len(self.mean) + log_determinants))

    def _block(self, covariance: np.ndarray) -> np.ndarray:
        """Return the block of a covariance for the weights whose covariance is compared."""
        return covariance[self._compared, self._compared]

    @cached_property
    def _root(self) -> np.ndarray:
        values, vectors = np.linalg.eigh(self.covariance)
        root: np.ndarray = vectors * np.sqrt(values.clip(min=0))
        return root

    @cached_property
    def _factor(self) -> tuple[np.ndarray, bool] | None:
        try:
            return cho_factor(self.covariance, lower=True)
        except np.linalg.LinAlgError:
            return None


def _single_root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric square root (D, D) of a positive semi-definite float32 matrix, without small eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    kept = np.abs(values) > np.float32(SINGLE_CUT) * np.abs(values).max()
    root: np.ndarray = (vectors[:, kept] * np.sqrt(values[kept])) @ vectors[:, kept].T
    return root


def relative_distance(estimate: np.ndarray, reference: np.ndarray) -> float:
    """Return ||estimate - reference|| / ||reference|| in the Frobenius norm."""
    return float(np.linalg.norm(np.asarray(estimate) - reference) / np.linalg.norm(reference))


def sampling_noise(covariance: np.ndarray, n_draws: float) -> float:
    """Return the expected relative distance between the covariance of a Gaussian and the sample covariance of n draws.

    E||C - S||^2 = (tr(S)^2 + ||S||^2) / n for the covariance C of n draws from N(m, S). Even the exact posterior has
    about this distance from a sampled reference posterior. Smaller distances of methods mean nothing.

    Args:
        covariance: (D, D), S or an estimate of it.
        n_draws: n, number of independent draws; for Markov chains, the effective sample size.
    """
    traces = np.trace(covariance) ** 2 / np.square(covariance).sum()
    return float(np.sqrt((traces + 1) / n_draws))
