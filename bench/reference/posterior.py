"""Reference posteriors of linear models, in closed form and on a grid."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from lockstep_bench.bench.reference.problem import Part

N_DRAWS = 2000  # independent ones
GRID_POINTS, GRID_SDS = 81, 8.0  # along each axis, and half its width; five points per sd


@dataclass(frozen=True, eq=False)
class ReferencePosterior:
    """A reference posterior: draws, moments, and the way in which they were computed.

    Attributes:
        draws: (S, D), draws of the weights.
        mean: (D,), mean of the weights. For a network it is the mean of the draws, which is not meaningful.
        covariance: (D, D), covariance of the weights. For a network it is not meaningful either.
        kind: "exact", "grid" or "nuts".
        facts: Quality of sampled draws: R-hat, effective sample size, for linear models `rel_cov_noise` (see
            `distances.sampling_noise`), and others; empty for other kinds.
    """

    draws: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    kind: str
    facts: dict[str, float] = field(default_factory=dict)


def exact(part: Part, seed: int) -> ReferencePosterior:
    """Return the posterior of linear regression in closed form.

    The posterior is N(beta S x^T y, S) with S = (alpha I + beta x^T x)^-1 (Bishop 2006, eq. 3.53-3.54). The prior of a
    bias is flat: its entry of alpha I is zero.

    Args:
        part: Training rows and model.
        seed: Seed of the draws.
    """
    alpha, beta = part.prior_precision, part.noise_precision
    prior = np.full(part.x.shape[1], alpha)
    if part.bias:
        prior[-1] = 0.0
    precision = np.diag(prior) + beta * part.x.T @ part.x
    covariance = np.linalg.inv(precision)
    mean = beta * covariance @ part.x.T @ part.y
    draws = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=N_DRAWS, method="cholesky")
    return ReferencePosterior(draws, mean, covariance, "exact")


def grid(part: Part, seed: int) -> ReferencePosterior:
    """Return the posterior of logistic regression with two weights, from its density on a grid about the mode.

    The grid reaches eight standard deviations of the Laplace approximation to each side. Moments are sums over the
    grid. Draws are grid points, drawn with their probabilities, and moved at random within their grid squares.

    Args:
        part: Training rows and model.
        seed: Seed of the draws.
    """

    def potentials(theta: np.ndarray) -> np.ndarray:
        logits = theta @ part.x.T
        prior = 0.5 * part.prior_precision * np.square(theta).sum(-1)
        energies: np.ndarray = np.logaddexp(0, logits).sum(-1) - logits @ part.y + prior
        return energies

    def potential(theta: np.ndarray) -> float:
        return float(potentials(theta))

    def gradient(theta: np.ndarray) -> NDArray[np.float64]:
        slope: NDArray[np.float64] = part.x.T @ (expit(part.x @ theta) - part.y) + part.prior_precision * theta
        return slope

    mode = minimize(potential, np.zeros(2), jac=gradient, method="BFGS").x
    slopes = expit(part.x @ mode)
    hessian = (part.x.T * (slopes * (1 - slopes))) @ part.x + part.prior_precision * np.eye(2)
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    axis = np.linspace(-GRID_SDS, GRID_SDS, GRID_POINTS)
    unit = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    points = mode + unit @ root.T
    log_density = -np.concatenate([potentials(block) for block in np.array_split(points, GRID_POINTS)])
    mass = np.exp(log_density - logsumexp(log_density))
    mean = mass @ points
    covariance = (points - mean).T @ ((points - mean) * mass[:, None])
    generator = np.random.default_rng(seed)
    chosen = generator.choice(len(points), size=N_DRAWS, p=mass)
    within = generator.uniform(-0.5, 0.5, size=(N_DRAWS, 2)) * (axis[1] - axis[0])
    return ReferencePosterior(points[chosen] + within @ root.T, mean, covariance, "grid")
