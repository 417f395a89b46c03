"""Online factor analysis: a Gaussian N(c, F F^T + diag(psi)) fitted to a stream of vectors, none of which is stored.

Each vector theta_t updates the mean, d_t = theta_t - mean_t, and the posterior N(m_t, Sigma) of its K latent factors,

    Sigma = (I + F^T psi^-1 F)^-1,      m_t = Sigma F^T psi^-1 d_t      (Brownlie 2022, eq. 4.10),

after which F and psi either follow the gradient of log N(theta_t; mean_t, F F^T + diag(psi)) (`GradientAscent`, the
thesis's Algorithm 1), or maximise EM's lower bound with the averages so far (`ExpectationMaximisation`, Algorithm 2):

    A = avg d_t m_t^T,      H = Sigma + avg m_t m_t^T,      F = A H^-1,      psi = avg d_t^2 + diag(F H F^T - 2 F A^T).

Line 5 of both algorithms is misprinted: the mean moves by (theta_t - mean_t-1) / t. The first `WARM_UP` vectors should
update the averages only. Memory is O(D K), time per vector O(D K^2).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from methods.maths.gaussian import LowRankNormal, capacitance, inverse
from methods.maths.noise import Noise

WARM_UP = 100  # vectors, in all experiments of the thesis (section 4.4.1.1)
GRADIENT_LR = 1e-3  # of Algorithm 1 (section 4.4.1.1)
MIN_VARIANCE_SHARE = 1e-6  # psi is at least this share of the total variance


class Averages(NamedTuple):
    """What Algorithm 2 of the thesis remembers of the vectors it has seen, K + 2 vectors of their dimension.

    Attributes:
        count: (), t, how many those were.
        mean: (D,), of all of them.
        square: (D,), average of d_t^2.
        cross: (K, D), average of m_t d_t^T.
        latent_square: (K, K), average of m_t m_t^T.
        moment: (K, K), H by the F and psi that the last vector was seen with.
    """

    count: Tensor
    mean: Tensor
    square: Tensor
    cross: Tensor
    latent_square: Tensor
    moment: Tensor

    @classmethod
    def init(cls, k: int, zeros: Tensor) -> "Averages":
        """Of no vector, in a stream of the dimension of the zeros (D,), with K factors."""
        cross = zeros.expand(k, -1).clone()
        square = cross @ cross.T
        return cls(zeros.sum(), zeros, zeros, cross, square, capacitance(cross, cross))

    def update(self, theta: Tensor, factors: Tensor, variance: Tensor) -> "Averages":
        """After the next vector (D,), with the latent factors that F transposed, (K, D), and psi (D,) give it."""
        count = self.count + 1
        mean = self.mean + (theta - self.mean) / count
        deviation = theta - mean
        latent_covariance, latent = latent_posterior(factors, variance, deviation)
        square = self.square + (deviation**2 - self.square) / count
        cross = self.cross + (latent[:, None] * deviation - self.cross) / count
        latent_square = self.latent_square + (latent[:, None] * latent - self.latent_square) / count
        return Averages(count, mean, square, cross, latent_square, latent_covariance + latent_square)

    def maximisers(self) -> tuple[Tensor, Tensor]:
        """F transposed, (K, D), and psi (D,), of the M step."""
        factors = inverse(self.moment) @ self.cross
        unexplained = self.square + ((self.moment @ factors - 2 * self.cross) * factors).sum(0)
        least = (MIN_VARIANCE_SHARE * self.square).clamp(min=torch.finfo(self.square.dtype).tiny)
        return factors, torch.maximum(unexplained, least)

    def expanded(self) -> LowRankNormal:
        """N(mean, F H F^T + diag(psi)), which keeps the variance that the stream has had in each dimension.

        F belongs to latent factors of second moment H, so this is the fitted model with their own covariance instead
        of I: the reduction step of parameter-expanded EM (Liu, Rubin and Wu 1998). Where EM has converged, H = I and
        nothing changes. The averages of a short stream, however, remember factors of another scale.
        """
        factors, variance = self.maximisers()
        return LowRankNormal(self.mean, torch.linalg.cholesky_ex(self.moment).L.T @ factors, variance)


class ExpectationMaximisation(NamedTuple):
    """Algorithm 2 of the thesis.

    Attributes:
        averages: of the vectors seen.
        factors: (K, D), F transposed.
        variance: (D,), psi.
    """

    averages: Averages
    factors: Tensor
    variance: Tensor

    @classmethod
    def init(cls, dim: int, k: int, noise: Noise) -> "ExpectationMaximisation":
        """Orthonormal columns of F, psi = 1 and no vector seen, for a stream of dimension D with K factors, K <= D."""
        factors = orthonormal(dim, k, noise)
        zeros = torch.zeros_like(factors[0])
        return cls(Averages.init(k, zeros), factors, zeros + 1)

    def update(self, theta: Tensor, learn: bool = True) -> "ExpectationMaximisation":
        """After the next vector (D,); F and psi stay as they are unless `learn`."""
        averages = self.averages.update(theta, self.factors, self.variance)
        return ExpectationMaximisation(averages, *(averages.maximisers() if learn else self[1:]))

    def normal(self) -> LowRankNormal:
        """What Algorithm 2 returns: N(mean, F F^T + diag(psi))."""
        return LowRankNormal(self.averages.mean, self.factors, self.variance)


class GradientAscent(NamedTuple):
    """Algorithm 1 of the thesis.

    Attributes:
        count: (), t, vectors seen.
        mean: (D,), of all of them.
        factors: (K, D), F transposed.
        log_variance: (D,), gamma, the logarithm of psi.
    """

    count: Tensor
    mean: Tensor
    factors: Tensor
    log_variance: Tensor

    @classmethod
    def init(cls, dim: int, k: int, noise: Noise) -> "GradientAscent":
        """Orthonormal columns of F, psi = 1 and no vector seen, for a stream of dimension D with K factors, K <= D."""
        factors = orthonormal(dim, k, noise)
        zeros = torch.zeros_like(factors[0])
        return cls(zeros.sum(), zeros, factors, zeros)

    def update(self, theta: Tensor, learn: bool = True, square_unit: Tensor | float = 1.0) -> "GradientAscent":
        """After the next vector (D,); F and psi stay as they are unless `learn`.

        F moves as if dimension l of the stream were measured in units of sqrt(square_unit_l), (D,).
        """
        count = self.count + 1
        mean = self.mean + (theta - self.mean) / count
        factors, log_variance = self.factors, self.log_variance
        if learn:
            factor_gradient, log_variance_gradient = log_density_gradients(self.normal(), theta - mean)
            factors = factors + GRADIENT_LR * square_unit * factor_gradient
            # Past what this vector alone asks for, which takes deviations of 140 sd, the exponential would overflow.
            most = torch.log1p(2 * log_variance_gradient.clamp(min=0))
            log_variance = log_variance + torch.minimum(GRADIENT_LR * log_variance_gradient, most)
        return GradientAscent(count, mean, factors, log_variance)

    def normal(self) -> LowRankNormal:
        """The distribution fitted so far."""
        return LowRankNormal(self.mean, self.factors, self.log_variance.exp())


def orthonormal(dim: int, k: int, noise: Noise) -> Tensor:
    """K orthonormal vectors as rows (K, D): the reduced QR decomposition of a normal matrix (section 4.3)."""
    return torch.linalg.qr(noise.normal(dim, k)).Q.T


def latent_posterior(factors: Tensor, variance: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
    """Covariance Sigma (K, K) and mean m (K,) of the latent factors of theta = mean + deviation (eq. 4.23)."""
    scaled = factors / variance
    covariance = inverse(capacitance(factors, scaled))
    return covariance, covariance @ (scaled @ deviation)


def log_density_gradients(normal: LowRankNormal, deviation: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of log N(mean + deviation) in F transposed, (K, D), and log psi, (D,) (eq. 4.24 to 4.26)."""
    factors, variance = normal.factors, normal.variance
    covariance, latent = latent_posterior(factors, variance, deviation)
    expected = (covariance + latent[:, None] * latent) @ factors  # (F E[h h^T])^T
    in_factors = (latent[:, None] * deviation - expected) / variance
    residual = deviation**2 - 2 * deviation * (latent @ factors) + (expected * factors).sum(0)
    return in_factors, 0.5 * (residual / variance - 1)
