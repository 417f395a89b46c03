"""Predictive distributions of a regression that are mixtures of Student's t distributions or of weighted normals.

They are scored in float64, in original target units. The classes implement `bench.metrics.distributions.Distribution`.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

MARGIN = 1e-6  # around the range of the components' quantiles, in standard deviations of the widest one
# Of the trapezoid rule of `integral_of_spread`, which leaves out about exp(-FAR) of the integral.
STEP, FAR, MOST_NODES = 0.2, 14.0, 10_000


def mixture_quantile(
    level: float | np.ndarray,
    of_components: np.ndarray,
    spread: np.ndarray,
    below: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the quantile of a mixture at each of n points, (n,).

    The quantile is searched between the smallest and the largest quantile of the mixture's components.

    Args:
        level: probability between 0 and 1, or one per point, (n,).
        of_components: (n, C), quantiles of the C components for these probabilities.
        spread: (n,), standard deviation of the widest component.
        below: distribution function of the mixture; its arguments are values (m,) and the point numbers (m,) that they
            belong to.
    """
    levels = np.broadcast_to(level, len(of_components))
    lowest, highest = of_components.min(1), of_components.max(1)
    # Beside a large mean a small standard deviation is less than the distance of two floating-point numbers.
    margin = MARGIN * spread + 4 * np.spacing(np.maximum(abs(lowest), abs(highest)))

    def excess(x: np.ndarray, point: np.ndarray) -> np.ndarray:
        return np.asarray(below(x, point) - levels[point])

    from scipy.optimize.elementwise import find_root  # takes a third of a second, and only mixtures need it

    found = find_root(excess, (lowest - margin, highest + margin), args=(np.arange(len(levels)),))
    return np.where(found.success, found.x, np.nan)


def t_log_density(z: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return log f(z) of Student's t distribution with `df` degrees of freedom, nats; z and df broadcast.

    The result equals `scipy.stats.t.logpdf`, which is not used because importing scipy.stats takes 0.7 seconds in every
    worker process.
    """
    constant = np.log(special.poch(0.5 * df, 0.5)) - 0.5 * (np.log(df) + np.log(np.pi))
    density: np.ndarray = constant - (df + 1) / 2 * np.log1p(z * z / df)
    return density


class StudentTMixture:
    """Equal mixtures of S shifted and scaled Student's t distributions at n points; arguments (S, n)."""

    def __init__(self, df: np.ndarray, location: np.ndarray, scale: np.ndarray):
        self._df, self._location, self._scale = df, location, scale
        variances = scale**2 * df / (df - 2)
        self.mean, self.variance = location.mean(0), variances.mean(0) + location.var(0)
        self._widest = np.sqrt(variances.max(0))

    def log_densities(self, y: np.ndarray) -> np.ndarray:
        """Return log p_s(y) of each sample s at each point, (S, n), nats."""
        z = (y - self._location) / self._scale
        densities: np.ndarray = t_log_density(z, self._df) - np.log(self._scale)
        return densities

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """Return the distribution function P(Y <= y) at each point, (n,)."""
        below: np.ndarray = special.stdtr(self._df, (y - self._location) / self._scale).mean(0)
        return below

    def quantile(self, level: float | np.ndarray) -> np.ndarray:
        """Return the quantile at each point, (n,), for one probability, or for one per point."""
        # Points first, so that the components of one point lie side by side.
        df, location, scale = self._df.T.copy(), self._location.T.copy(), self._scale.T.copy()
        levels = np.broadcast_to(level, len(df))[:, None]

        def below(x: np.ndarray, point: np.ndarray) -> np.ndarray:
            probability: np.ndarray = special.stdtr(df[point], (x[..., None] - location[point]) / scale[point]).mean(-1)
            return probability

        return mixture_quantile(level, location + scale * special.stdtrit(df, levels), self._widest, below)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS at each point, (n,): E|Y - y| - E|Y - Y'| / 2.

        E|Y - y| has a closed form. For one component it is, with z = (y - location) / scale, density f and distribution
        function F of T, and nu = df,

            scale (z (2 F(z) - 1) + 2 f(z) (nu + z^2) / (nu - 1)).

        E|Y - Y'| / 2 is the integral of F (1 - F) for the mixture's F. It has no closed form and is computed
        numerically.
        """
        df, z = self._df, (y - self._location) / self._scale
        of_density = 2 * np.exp(t_log_density(z, df)) * (df + z**2) / (df - 1)
        distance = (self._scale * (z * (2 * special.stdtr(df, z) - 1) + of_density)).mean(0)
        at_points = zip(self._df.T, self._location.T, self._scale.T, strict=True)
        return np.array([first - integral_of_spread(*parts) for first, parts in zip(distance, at_points, strict=True)])


def integral_of_spread(df: np.ndarray, location: np.ndarray, scale: np.ndarray) -> float:
    """Return the integral of F (1 - F), where F is the CDF of an equal mixture of S Student's t distributions.

    The trapezoid rule is applied in u, with t = centre + w (u + exp(u - r) - exp(-u - r)). Here w is the smallest
    scale, and w r half the range of the locations. Nodes are evenly spaced over the range of the locations, and
    exponentially spaced outside, where the integrand falls with a power of t. The relative error was below 1e-6 in
    tests with 2.01 to 1e6 degrees of freedom; it is larger where the locations spread over more than a thousand times
    the smallest scale.
    """
    lowest, highest, narrowest = location.min(), location.max(), scale.min()
    if not np.isfinite([lowest, highest, narrowest]).all():
        return np.nan
    reach = (highest - lowest) / 2 / narrowest
    last = reach + 3 + np.log(scale.max() / narrowest) + FAR / (df.min() - 1)
    u = np.linspace(-last, last, 2 * int(min(MOST_NODES, np.ceil(last / STEP))) + 1)
    ahead, behind = np.exp(u - reach), np.exp(-u - reach)
    t = (lowest + highest) / 2 + narrowest * (u + ahead - behind)
    z = (t[:, None] - location) / scale
    outer = special.stdtr(df, -np.abs(z))  # the smaller one of F and 1 - F of a component, without cancellation
    below, above = np.where(z < 0, outer, 1 - outer).mean(1), np.where(z < 0, 1 - outer, outer).mean(1)
    return float((below * above * (1 + ahead + behind)).sum() * narrowest * (u[1] - u[0]))


class NormalMixture:
    """Equal mixtures of S weighted mixtures of K normal distributions at n points; arguments (S, n, K)."""

    def __init__(self, log_weights: np.ndarray, means: np.ndarray, variances: np.ndarray):
        self._n_samples = len(means)
        self._log_weights = log_weights - special.logsumexp(log_weights, axis=2, keepdims=True)
        self._means, self._variances = means, variances
        # All S K components of a point side by side, (n, S K).
        self._weight = self._flat(np.exp(self._log_weights) / self._n_samples)
        self._mean, self._sd = self._flat(means), self._flat(np.sqrt(variances))
        self.mean: np.ndarray = (self._weight * self._mean).sum(1)
        self.variance: np.ndarray = (self._weight * (self._sd**2 + (self._mean - self.mean[:, None]) ** 2)).sum(1)

    def log_densities(self, y: np.ndarray) -> np.ndarray:
        """Return log p_s(y) of each sample s at each point, (S, n), nats."""
        squares = (y[:, None] - self._means) ** 2 / self._variances
        components = -0.5 * (squares + np.log(2 * np.pi * self._variances))
        return np.asarray(special.logsumexp(self._log_weights + components, axis=2))

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """Return the distribution function P(Y <= y) at each point, (n,)."""
        return self._below(y, np.arange(len(y)))

    def quantile(self, level: float | np.ndarray) -> np.ndarray:
        """Return the quantile at each point, (n,), for one probability, or for one per point."""
        levels = np.broadcast_to(level, len(self._mean))[:, None]
        return mixture_quantile(level, self._mean + self._sd * special.ndtri(levels), self._sd.max(1), self._below)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS at each point, (n,), in closed form (Grimit et al. 2006).

        The formula is that of `bench.metrics.regression.crps`, with weights.
        """
        weight, mean, variance = self._weight.T, self._mean.T, self._sd.T**2
        distance = (weight * expected_absolute(y - mean, variance)).sum(0)
        for one_weight, one_mean, one_variance in zip(weight, mean, variance, strict=True):
            apart = (weight * expected_absolute(mean - one_mean, variance + one_variance)).sum(0)
            distance -= 0.5 * one_weight * apart
        return np.asarray(distance)

    def _below(self, x: np.ndarray, point: np.ndarray) -> np.ndarray:
        below: np.ndarray = special.ndtr((x[..., None] - self._mean[point]) / self._sd[point])
        return np.asarray((self._weight[point] * below).sum(-1))

    @staticmethod
    def _flat(part: np.ndarray) -> np.ndarray:
        """Return (n, S K) from (S, n, K)."""
        return part.transpose(1, 0, 2).reshape(part.shape[1], -1)


def expected_absolute(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return E|Z| for Z ~ N(mean, variance)."""
    sd = np.sqrt(variance)
    z = mean / sd
    absolute: np.ndarray = mean * (2 * special.ndtr(z) - 1) + 2 * sd * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return absolute
