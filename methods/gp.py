"""Gaussian process regression: exact for few inputs, with inducing points for many.

The prior of the function is a Gaussian process with mean zero and the squared-exponential kernel with one lengthscale
per input (ARD),

    k(x, x') = s^2 exp(-d / 2),      d = sum_p (x_p - x'_p)^2 / l_p^2,

or the Matern kernel of smoothness 5/2, whose functions are rougher (Rasmussen and Williams 2006, section 4.2.1),

    k(x, x') = s^2 (1 + r + r^2 / 3) exp(-r),      r^2 = 5 d,

and y = f(x) + noise of variance v. With values of f at M inducing points Z, Q = K_XZ K_ZZ^-1 K_ZX, and the optimal
Gaussian over these values, the evidence is bounded by (Titsias 2009, eq. 9)

    log p(y) >= log N(y; 0, Q + v I) - 1/(2 v) tr(K_XX - Q).

s, l and v maximise this bound, by L-BFGS from several starts. Z holds all distinct training inputs if there are at most
500, where the bound is the evidence and the predictive exact, and the centres of 500 clusters of k-means otherwise.

The starts are compared on at most 250 rows and the best one goes on with at most 10,000, both drawn with a fixed seed;
the posterior given s, l and v uses all rows. Where the 250 rows are fitted with little noise, the bound of many rows
may rise from there to that of noise alone, a local maximum. The fit then begins anew from the first start, and the
greater bound counts. Costs grow with N M^2. Nothing is tuned by cross-validation, and no seed changes the fit. This
method is a baseline without a neural network.
"""

from typing import NamedTuple

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from scipy.optimize import Bounds, minimize
from torch import Tensor
from torch.linalg import cholesky, solve_triangular

from lockstep_bench.methods.api import FullBatchMethod, Noise, Normals, Predictive, Problem, Task
from lockstep_bench.methods.catalogue.rows import catalogued

INDUCING, PROXY_INDUCING = 500, 100
FIRST_ROWS, FIRST_STEPS = 250, 50  # rows and L-BFGS iterations of each start
ROWS, STEPS = 10_000, 100  # of the best one
STARTS = ((1.0, 0.1), (3.0, 0.1), (1.0, 0.01))  # lengthscales in multiples of sqrt(P), noise variance
LEAST_EXPLAINED = 0.1  # nats per row, over independent noise of the targets' variance; with less, fits begin again
LEAST_GAIN = 1e-6  # L-BFGS stops at steps that gain fewer nats per row, relative to the bound if that is above 1
JITTER = 1e-8  # added to the diagonal of K_ZZ, relative to s^2
# Bounds for standardised inputs and targets.
LENGTHSCALES, SCALES, NOISES = (1e-2, 1e4), (1e-2, 1e2), (1e-6, 1e1)
AT_ONCE = 4096  # rows whose kernel with Z is in memory
KMEANS_STEPS = 20


class Kernel(NamedTuple):
    """Kernel with noise, for standardised inputs and targets, float64.

    Attributes:
        lengthscales: (P,), l.
        variance: (), s^2.
        noise: (), v.
        matern: True for the Matern kernel, False for the squared-exponential kernel.
    """

    lengthscales: Tensor
    variance: Tensor
    noise: Tensor
    matern: bool = False

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the covariances (A, B) of the function at inputs a (A, P) and b (B, P)."""
        return self.with_slope(a, b)[0]

    def with_slope(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Return covariances k(a, b), and -2 dk/dd, at inputs a (A, P) and b (B, P); each (A, B).

        d is the squared distance of two inputs, in units of the lengthscales.
        """
        a, b = a / self.lengthscales, b / self.lengthscales
        squared = (a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T).clamp(min=0)
        if not self.matern:
            covariance = self.variance * torch.exp(-0.5 * squared)
            return covariance, covariance
        r = torch.sqrt(5 * squared)
        decayed = self.variance * torch.exp(-r)
        return (1 + r + r**2 / 3) * decayed, 5 / 3 * (1 + r) * decayed

    def root(self, z: Tensor) -> Tensor:
        """Return the Cholesky factor (M, M) of the covariances at z (M, P)."""
        jitter = JITTER * self.variance * torch.eye(len(z), dtype=z.dtype, device=z.device)
        factor: Tensor = cholesky(self(z, z) + jitter)
        return factor


class GaussianProcessPosterior(NamedTuple):
    """Posterior of the function values at the inducing points, float64, for standardised inputs and targets.

    Let K be kernel matrices at inducing points Z and training inputs X, and v the noise variance. With A = L^-1 K_ZX /
    sqrt(v), where L L^T = K_ZZ, and B = I + A A^T:

    Attributes:
        kernel: kernel with the values that maximise the bound.
        inducing: (M, P), inducing points Z.
        root: (M, M), L.
        precision_root: (M, M), the Cholesky factor of B.
        coefficients: (M,), the inverse of `precision_root` times A y / sqrt(v).
    """

    kernel: Kernel
    inducing: Tensor
    root: Tensor
    precision_root: Tensor
    coefficients: Tensor


@catalogued("gp")
class GaussianProcess(FullBatchMethod):
    """Gaussian process regression with evidence maximisation. It has no hyper-parameters to tune.

    Args:
        inducing: M, the largest number of inducing points.
        matern: True for the Matern kernel of smoothness 5/2, False for the squared-exponential kernel.
    """

    likelihoods = ("gaussian", "heteroscedastic")
    joint = False
    deterministic = True
    one_pass = True

    def __init__(self, inducing: int = INDUCING, matern: bool = False):
        self.inducing, self.matern = inducing, matern

    def proxy(self) -> "GaussianProcess":
        """Return a process with fewer inducing points, for cross-validation.

        As nothing is tuned, the cross-validation scores are only recorded.
        """
        return GaussianProcess(PROXY_INDUCING, self.matern)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {}

    @torch.no_grad()
    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> GaussianProcessPosterior:
        x, y = x.double(), y.double()
        z = inducing_points(x, self.inducing)
        few, many = (some_rows(len(x), count) for count in (FIRST_ROWS, ROWS))
        first_z = inducing_points(x[few], min(FIRST_ROWS, self.inducing))
        n_inputs = x.shape[1]
        starts = [np.log([length * np.sqrt(n_inputs)] * n_inputs + [1.0, noise]) for length, noise in STARTS]
        candidates = [maximised(start, x[few], y[few], first_z, FIRST_STEPS, self.matern) for start in starts]
        best = min(candidates, key=lambda candidate: candidate[1])[0]
        if len(x) > len(few) or len(z) > len(first_z):
            best = self._on_many(best, starts[0], x[many], y[many], z)
        return posterior_of(kernel_of(torch.tensor(best, device=x.device), self.matern), x, y, z)

    def _on_many(self, best: np.ndarray, anew: np.ndarray, x: Tensor, y: Tensor, z: Tensor) -> np.ndarray:
        """Return the logarithms (P + 2,) that are reached from `best`, or from `anew` if nearly all would be noise."""
        found = maximised(best, x, y, z, STEPS, self.matern)
        noise_alone = 0.5 * (torch.log(2 * torch.pi * y.square().mean()).item() + 1)
        if found[1] > noise_alone - LEAST_EXPLAINED:
            found = min(found, maximised(anew, x, y, z, STEPS, self.matern), key=lambda candidate: candidate[1])
        return found[0]

    def diagnostics(self, problem: Problem, posterior: GaussianProcessPosterior) -> dict[str, Tensor]:
        """Return the noise precision in original target units, and the number of inducing points."""
        noise_precision = 1 / (posterior.kernel.noise * problem.y_scale.double() ** 2)
        return {"noise_precision": noise_precision, "inducing_points": posterior.root.new_tensor(len(posterior.root))}

    def predict(
        self, problem: Problem, posterior: GaussianProcessPosterior, x: Tensor, noise: Noise, n_samples: int
    ) -> Predictive:
        parts = [predicted(posterior, part) for part in torch.split(x.double(), AT_ONCE)]
        mean, variance = (torch.cat(each) for each in zip(*parts, strict=True))
        y_scale = problem.y_scale.double()
        return Normals((problem.y_mean + y_scale * mean)[None], (y_scale**2 * variance)[None])


def kernel_of(logs: Tensor, matern: bool = False) -> Kernel:
    """Return the kernel whose P lengthscales, s and v have the logarithms `logs` (P + 2,)."""
    return Kernel(logs[:-2].exp(), (2 * logs[-2]).exp(), logs[-1].exp(), matern)


def bound(logs: Tensor, x: Tensor, y: Tensor, z: Tensor, matern: bool = False) -> tuple[Tensor, Tensor]:
    """Return the lower bound of the log evidence log p(y), (), nats, and its gradient (P + 2,) in `logs`.

    These are the logarithms of the lengthscales l, of s (s^2 is the kernel's variance), and of the noise variance v.
    With A, B and c = B^-1 A y / sqrt(v) as in `GaussianProcessPosterior`, the bound is

        -1/2 (log |B| + N log(2 pi v) + |y|^2 / v - c^T B c + N s^2 / v - tr(B - I)),

    and its derivatives in the kernels K_ZX and K_ZZ are L^-T (E A + c y^T / sqrt(v)) / sqrt(v) and
    L^-T (E - A A^T) L^-1 / 2, where E = I - B^-1 - c c^T. Automatic derivatives take twice as long.

    Args:
        logs: (P + 2,), see `kernel_of`.
        x: (N, P), inputs.
        y: (N,), targets.
        z: (M, P), inducing points.
        matern: True for the Matern kernel, False for the squared-exponential kernel.
    """
    kernel, identity = kernel_of(logs, matern), torch.eye(len(z), dtype=x.dtype, device=x.device)
    variance, noise, noise_sd = kernel.variance, kernel.noise, kernel.noise.sqrt()
    (inner, inner_slope), (cross, cross_slope), root = kernel.with_slope(z, z), kernel.with_slope(z, x), kernel.root(z)
    a = solve_triangular(root, cross, upper=False) / noise_sd
    aa = a @ a.T
    b_root = cholesky(identity + aa)
    b_inverse = torch.cholesky_inverse(b_root)
    projected = a @ y / noise_sd
    c = b_inverse @ projected
    left_over = len(y) * variance / noise - aa.trace()
    constant = len(y) * torch.log(2 * torch.pi * noise) + y.square().sum() / noise
    value = -0.5 * (2 * b_root.diagonal().log().sum() + constant - c @ projected + left_over)

    e = identity - b_inverse - torch.outer(c, c)
    of_cross = solve_triangular(root.T, e @ a + torch.outer(c, y) / noise_sd, upper=True)
    back = solve_triangular(root.T, identity, upper=True)
    of_inner = back @ (e - aa) @ back.T / 2
    jitter = JITTER * variance * of_inner.trace()
    of_lengths = _squared_distances(of_cross * cross_slope / noise_sd, z, x)
    of_lengths = of_lengths + _squared_distances(of_inner * inner_slope, z, z)
    of_both = (of_cross * cross / noise_sd).sum() + (of_inner * inner).sum()
    of_scale = 2 * (of_both + jitter) - len(y) * variance / noise
    fitted = c @ projected + c @ c  # c^T B c + c^T c
    of_noise = -len(y) + len(z) - b_inverse.trace() + y.square().sum() / noise - fitted + left_over
    return value, torch.cat([of_lengths / kernel.lengthscales**2, of_scale[None], of_noise[None] / 2])


def _squared_distances(weights: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return sum_ij weights_ij (a_ip - b_jp)^2 for each p, (P,), of weights (A, B), a (A, P) and b (B, P)."""
    return weights.sum(1) @ a**2 + weights.sum(0) @ b**2 - 2 * (a * (weights @ b)).sum(0)


def maximised(
    start: np.ndarray, x: Tensor, y: Tensor, z: Tensor, steps: int, matern: bool = False
) -> tuple[np.ndarray, float]:
    """Maximise the bound on the log evidence by L-BFGS, in the logarithms of the kernel's parameters, from `start`.

    Returns:
        The logarithms (P + 2,) that are reached, and minus the bound per training row there.
    """

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = bound(torch.tensor(logs, device=x.device), x, y, z, matern)
        return -value.item() / len(y), -gradient.cpu().numpy() / len(y)

    low, high = np.log([LENGTHSCALES] * x.shape[1] + [SCALES, NOISES]).T
    found = minimize(
        loss,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=Bounds(low, high),
        options={"maxiter": steps, "ftol": LEAST_GAIN},
    )
    return found.x, float(found.fun)


def posterior_of(kernel: Kernel, x: Tensor, y: Tensor, z: Tensor) -> GaussianProcessPosterior:
    """Return the posterior of a Gaussian process with a given kernel, from inputs x (N, P) and targets y (N,).

    The rows are processed in parts, to save memory.
    """
    root = kernel.root(z)
    precision, projected = torch.eye(len(z), dtype=x.dtype, device=x.device), x.new_zeros(len(z))
    for part, targets in zip(torch.split(x, AT_ONCE), torch.split(y, AT_ONCE), strict=True):
        a = solve_triangular(root, kernel(z, part), upper=False) / kernel.noise.sqrt()
        precision, projected = precision + a @ a.T, projected + a @ targets
    precision_root = cholesky(precision)
    c = solve_triangular(precision_root, projected[:, None], upper=False)[:, 0] / kernel.noise.sqrt()
    return GaussianProcessPosterior(kernel, z, root, precision_root, c)


def predicted(posterior: GaussianProcessPosterior, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of the target at each of x (n, P), each (n,), in standardised units, noise included."""
    kernel = posterior.kernel
    a = solve_triangular(posterior.root, kernel(posterior.inducing, x), upper=False)
    b = solve_triangular(posterior.precision_root, a, upper=False)
    unexplained = (kernel.variance - a.square().sum(0)).clamp(min=0)
    return posterior.coefficients @ b, unexplained + b.square().sum(0) + kernel.noise


def inducing_points(x: Tensor, most: int) -> Tensor:
    """Return the distinct inputs of x (N, P) if they are at most `most`, else the centres of `most` clusters."""
    distinct: Tensor = torch.unique(x, dim=0)
    if len(distinct) <= most:
        return distinct
    from sklearn.cluster import KMeans  # slow to import, and only many rows need it

    clusters = KMeans(most, n_init=1, max_iter=KMEANS_STEPS, random_state=0).fit(distinct.cpu().numpy())
    return x.new_tensor(clusters.cluster_centers_)


def some_rows(n_rows: int, most: int) -> np.ndarray:
    """Return at most `most` row numbers, drawn with a fixed seed, because rows may be in a regular order."""
    return np.sort(np.random.default_rng(0).permutation(n_rows)[:most])
