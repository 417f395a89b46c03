"""Online factor analysis (Brownlie 2022): fit a Gaussian N(c, F F^T + diag(psi)) to a stream without storing it.

The model is theta = c + F h + epsilon with K latent factors h ~ N(0, I) and epsilon ~ N(0, diag(psi)). Each vector
theta_t, (D,), updates the running mean. Its deviation d_t = theta_t - mean_t gives the posterior N(m_t, Sigma) of the
latent factors (eq. 4.10):

    Sigma = (I + F^T psi^-1 F)^-1,      m_t = Sigma F^T psi^-1 d_t.

Two algorithms then update F and psi:

- `GradientAscent` (Algorithm 1) takes a step along the gradient of log N(theta_t; mean_t, F F^T + diag(psi)).
- `ExpectationMaximisation` (Algorithm 2) maximises EM's lower bound, given running averages:

      A = avg d_t m_t^T,      H = Sigma + avg m_t m_t^T,
      F = A H^-1,             psi = avg d_t^2 + diag(F H F^T - 2 F A^T).

The first `WARM_UP` vectors should update the mean and the averages only. Memory is O(D K), time per vector O(D K^2).
Line 5 of both published algorithms contains a misprint: the mean changes by (theta_t - mean_t-1) / t.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.maths.gaussian import LowRankNormal, capacitance, inverse
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.orthogonal import thin_qr

WARM_UP = 100  # vectors, as in all experiments of the thesis (section 4.4.1.1)
GRADIENT_LR = 1e-3  # learning rate of Algorithm 1 (section 4.4.1.1)
MIN_VARIANCE_SHARE = 1e-6  # lower bound of psi as a fraction of the total variance


class Averages(NamedTuple):
    """Running averages over a stream of vectors, the sufficient statistics of online EM (Algorithm 2 of Brownlie 2022).

    d_t is the deviation of vector t from the running mean, and m_t the posterior mean of its K latent factors.

    Attributes:
        n_seen: (), t, the number of vectors seen.
        mean: (D,), mean of the vectors.
        square: (D,), average of d_t^2.
        cross: (K, D), average of m_t d_t^T.
        latent_square: (K, K), average of m_t m_t^T.
        moment: (K, K), H: `latent_square` plus the posterior covariance of the last vector's latent factors.
    """

    n_seen: Tensor
    mean: Tensor
    square: Tensor
    cross: Tensor
    latent_square: Tensor
    moment: Tensor

    @classmethod
    def init(cls, k: int, zeros: Tensor) -> "Averages":
        """Return the averages before the first vector.

        Args:
            k: K, the number of factors.
            zeros: (D,), zeros of the stream's dimension, data type and device.
        """
        cross = zeros.expand(k, -1).clone()
        square = cross @ cross.T
        return cls(zeros.sum(), zeros, zeros, cross, square, capacitance(cross, cross))

    def update(self, theta: Tensor, factors: Tensor, variance: Tensor) -> "Averages":
        """Return the averages after one more vector.

        Args:
            theta: (D,), the vector.
            factors: (K, D), F^T, with which the posterior of the vector's latent factors is computed.
            variance: (D,), psi, for the same posterior.
        """
        n_seen = self.n_seen + 1
        mean = self.mean + (theta - self.mean) / n_seen
        deviation = theta - mean
        latent_covariance, latent = latent_posterior(factors, variance, deviation)
        square = self.square + (deviation**2 - self.square) / n_seen
        cross = self.cross + (latent[:, None] * deviation - self.cross) / n_seen
        latent_square = self.latent_square + (latent[:, None] * latent - self.latent_square) / n_seen
        return Averages(n_seen, mean, square, cross, latent_square, latent_covariance + latent_square)

    def maximisers(self) -> tuple[Tensor, Tensor]:
        """Return F^T (K, D) and psi (D,) that maximise EM's lower bound (the M step)."""
        factors = inverse(self.moment) @ self.cross
        unexplained = self.square + ((self.moment @ factors - 2 * self.cross) * factors).sum(0)
        least = (MIN_VARIANCE_SHARE * self.square).clamp(min=torch.finfo(self.square.dtype).tiny)
        return factors, torch.maximum(unexplained, least)

    def expanded(self) -> LowRankNormal:
        """Return N(mean, F H F^T + diag(psi)), whose marginal variances equal those of the stream.

        Under the running averages, the latent factors have the second moment H instead of I. Using H in place of I is
        the reduction step of parameter-expanded EM (Liu, Rubin and Wu 1998). At convergence H = I, and the result
        equals that of Algorithm 2.
        """
        factors, variance = self.maximisers()
        return LowRankNormal(self.mean, torch.linalg.cholesky_ex(self.moment).L.T @ factors, variance)


class ExpectationMaximisation(NamedTuple):
    """State of online EM for the Gaussian N(c, F F^T + diag(psi)) (Algorithm 2 of Brownlie 2022).

    Attributes:
        averages: sufficient statistics of the vectors seen.
        factors: (K, D), F^T.
        variance: (D,), psi.
    """

    averages: Averages
    factors: Tensor
    variance: Tensor

    @classmethod
    def init(cls, dim: int, k: int, noise: Noise) -> "ExpectationMaximisation":
        """Return the state before the first vector: F has K <= D random orthonormal columns, and psi = 1."""
        factors = thin_qr(noise.normal(dim, k))[0].T
        zeros = torch.zeros_like(factors[0])
        return cls(Averages.init(k, zeros), factors, zeros + 1)

    def update(self, theta: Tensor, learn: bool = True) -> "ExpectationMaximisation":
        """Return the state after one more vector (D,); unless `learn`, only the averages change, not F and psi."""
        averages = self.averages.update(theta, self.factors, self.variance)
        return ExpectationMaximisation(averages, *(averages.maximisers() if learn else self[1:]))

    def normal(self) -> LowRankNormal:
        """Return the fitted Gaussian N(mean, F F^T + diag(psi)), the result of Algorithm 2."""
        return LowRankNormal(self.averages.mean, self.factors, self.variance)


class GradientAscent(NamedTuple):
    """State of online gradient ascent for the Gaussian N(c, F F^T + diag(psi)) (Algorithm 1 of Brownlie 2022).

    Attributes:
        n_seen: (), t, the number of vectors seen.
        mean: (D,), mean of the vectors.
        factors: (K, D), F^T.
        log_variance: (D,), log psi (the thesis's gamma).
    """

    n_seen: Tensor
    mean: Tensor
    factors: Tensor
    log_variance: Tensor

    @classmethod
    def init(cls, dim: int, k: int, noise: Noise) -> "GradientAscent":
        """Return the state before the first vector: F has K <= D random orthonormal columns, and psi = 1."""
        factors = thin_qr(noise.normal(dim, k))[0].T
        zeros = torch.zeros_like(factors[0])
        return cls(zeros.sum(), zeros, factors, zeros)

    def update(self, theta: Tensor, learn: bool = True, square_unit: Tensor | float = 1.0) -> "GradientAscent":
        """Return the state after one more vector; unless `learn`, only the mean changes, not F and psi.

        Args:
            theta: (D,), the vector.
            learn: whether F and psi take a gradient step.
            square_unit: (D,) or a number. F takes the step that it would take if dimension l of the stream were
                measured in units of sqrt(square_unit_l).
        """
        n_seen = self.n_seen + 1
        mean = self.mean + (theta - self.mean) / n_seen
        factors, log_variance = self.factors, self.log_variance
        if learn:
            factor_gradient, log_variance_gradient = log_density_gradients(self.normal(), theta - mean)
            factors = factors + GRADIENT_LR * square_unit * factor_gradient
            # A step beyond the variance that this vector alone implies could overflow. Deviations of 140 sd reach it.
            largest_step = torch.log1p(2 * log_variance_gradient.clamp(min=0))
            log_variance = log_variance + torch.minimum(GRADIENT_LR * log_variance_gradient, largest_step)
        return GradientAscent(n_seen, mean, factors, log_variance)

    def normal(self) -> LowRankNormal:
        """Return the fitted Gaussian N(mean, F F^T + diag(psi))."""
        return LowRankNormal(self.mean, self.factors, self.log_variance.exp())


def latent_posterior(factors: Tensor, variance: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
    """Return covariance Sigma (K, K) and mean m (K,) of the latent factors of theta = mean + deviation (eq. 4.23)."""
    scaled = factors / variance
    covariance = inverse(capacitance(factors, scaled))
    return covariance, covariance @ (scaled @ deviation)


def log_density_gradients(normal: LowRankNormal, deviation: Tensor) -> tuple[Tensor, Tensor]:
    """Return gradients of the log density at mean + deviation with respect to F^T and log psi (eq. 4.24 to 4.26).

    Args:
        normal: N(mean, F F^T + diag(psi)).
        deviation: (D,), of the point from the mean.

    Returns:
        The gradients with respect to F^T, (K, D), and log psi, (D,).
    """
    factors, variance = normal.factors, normal.variance
    covariance, latent = latent_posterior(factors, variance, deviation)
    expected = (covariance + latent[:, None] * latent) @ factors  # (F E[h h^T])^T
    factor_gradient = (latent[:, None] * deviation - expected) / variance
    residual = deviation**2 - 2 * deviation * (latent @ factors) + (expected * factors).sum(0)
    log_variance_gradient = 0.5 * (residual / variance - 1)
    return factor_gradient, log_variance_gradient
