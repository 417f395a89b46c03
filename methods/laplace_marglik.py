"""Laplace approximation whose prior and noise precision maximise its marginal likelihood, during training.

With theta the T weights of a mode, and G = sum_n J_n^T Lambda_n J_n the generalised Gauss-Newton matrix for beta = 1
(see `methods.laplace`), the Laplace approximation of the evidence is

    log p(D | alpha, beta) = log p(D | theta, beta) - alpha/2 |theta|^2 + T/2 log alpha - 1/2 log |alpha I + beta G|

(Immer et al. 2021). beta is the noise precision of a Gaussian likelihood, and 1 for all others. As in the paper,
training is online. Adam maximises the log posterior; after a burn-in, every 50 updates, alpha and beta are set to the
values that maximise the evidence at the current theta. The paper takes gradient steps of both precisions. Here the
search is over the ratio r = alpha / beta alone, because the best beta for a ratio is N / (|y - f|^2 + r |theta|^2). In
a linear model both the updates and the searches raise the exact evidence, so that training ends where it is largest.

G is dense, or only its diagonal, or for each layer the Kronecker product of KFAC (Martens and Grosse 2015),

    1/N  sum_n h_n h_n^T  (x)  sum_n J_n^T Lambda_n J_n,

where h_n are the layer's inputs, with a one for the bias, and J_n is the Jacobian of the network's outputs in the
layer's outputs. With the eigenvalues d of G, log |alpha I + beta G| = sum_i log(alpha + beta d_i). The predictive is
that of the linearised network.

Nothing is tuned by cross-validation, and the protocol's number of epochs has no effect.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from scipy.optimize import minimize_scalar
from torch import Tensor
from torch.func import jacrev, vmap

from lockstep_bench.methods.api import (
    MLP,
    Adam,
    Batch,
    FullBatchMethod,
    HParams,
    Layer,
    Noise,
    Predictive,
    Problem,
    Step,
    Task,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.laplace import JACOBIAN_NUMBERS, MAX_UNCERTAIN, FullLaplace
from lockstep_bench.methods.linear import LEAST_NOISE, RATIOS
from lockstep_bench.methods.maths.noise import LiveNoise

LR, UPDATES, BURN_IN = 1e-2, 1500, 300  # of Adam; the rate falls to zero along half a cosine
EVERY = 50  # updates between two searches
MINIBATCH = 1000  # rows of an update at most; the evidence has all rows
FIRST_PRECISION = 1.0  # alpha and beta of the burn-in, for standardised targets
LINEARISED = FullLaplace()

Sums = tuple[Tensor, ...]  # over rows, of what a structure of G is made of


class Spectrum(NamedTuple):
    """Eigenvalues and eigenvectors of G, the generalised Gauss-Newton matrix (dense, diagonal or KFAC).

    Attributes:
        values: (T,), eigenvalues, block by block.
        bases: matrices (U, V) of each diagonal block of G. The block's eigenvectors are the Kronecker products of
            columns of U and columns of V. Empty if G is diagonal.
    """

    values: Tensor
    bases: tuple[tuple[Tensor, Tensor], ...]

    def deviations(self, unit: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        """Return draws (S, T) of N(0, (alpha I + beta G)^-1) from standard normal numbers (S, T)."""
        scaled = unit / (alpha + beta * self.values).sqrt()
        if not self.bases:
            return scaled
        blocks = torch.split(scaled, [len(u) * len(v) for u, v in self.bases], dim=1)
        of_blocks = zip(blocks, self.bases, strict=True)
        return torch.cat([(u @ block.view(-1, len(u), len(v)) @ v.T).flatten(1) for block, (u, v) in of_blocks], 1)


class MarginalLaplacePosterior(NamedTuple):
    """Gaussian posterior of the weights, and the precisions of its prior and noise, float64, for standardised targets.

    Attributes:
        mean: (T,), the weights theta.
        spectrum: eigenvalues and eigenvectors of G.
        prior_precision: (), alpha.
        noise_precision: (), beta; 1 where the likelihood has none.
        log_evidence: (), nats, of targets in original units.
    """

    mean: Tensor
    spectrum: Spectrum
    prior_precision: Tensor
    noise_precision: Tensor
    log_evidence: Tensor


@catalogued("laplace-marglik-full")
class MarginalLaplace(FullBatchMethod):
    """Laplace approximation of all weights whose precisions maximise the evidence, with a dense G.

    Args:
        structure: structure of G: "full" (dense), "kron" (KFAC) or "diag".
        updates: number of updates of Adam.
    """

    likelihoods = ("gaussian", "heteroscedastic", "bernoulli", "categorical")

    def __init__(self, structure: str = "full", updates: int = UPDATES):
        self.structure, self.updates_of_adam = structure, updates

    def proxy(self) -> "MarginalLaplace":
        """Return the method with a third of the updates, for cross-validation.

        As nothing is tuned, the cross-validation scores are only recorded.
        """
        return MarginalLaplace(self.structure, max(1, self.updates_of_adam // 3))

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {}

    def excludes(self, task: Task) -> str | None:
        network = self.network(task)
        if not isinstance(network, MLP):
            return "the marginal likelihood needs the curvature of all training rows many times"
        if self.structure == "full" and network.dim > MAX_UNCERTAIN:
            return f"its covariance would be of {network.dim} weights; {MAX_UNCERTAIN} are allowed"
        return super().excludes(task)

    @torch.no_grad()
    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> MarginalLaplacePosterior:
        x, y = x.double(), y.double()
        generator = torch.Generator(x.device).manual_seed(seed)
        first = x.new_tensor(FIRST_PRECISION)
        alpha, beta = first, first if _has_noise(problem) else torch.ones_like(first)
        weights = problem.initial_weights(LiveNoise(generator, x.dtype))
        optim = Adam.init(weights)
        for number in range(1, self.updates_of_adam + 1):
            rate = x.new_tensor(LR * 0.5 * (1 + math.cos(math.pi * number / self.updates_of_adam)))
            gradient = _gradient(with_precisions(problem, alpha, beta), weights, _minibatch(x, y, generator))
            weights, optim = optim.step(weights, gradient, rate, Step(x.new_tensor(float(number)), None))
            last = number == self.updates_of_adam
            if last or (number >= BURN_IN and number % EVERY == 0):
                found = spectrum_of(self.structure, problem, weights, x)
                alpha, beta = best_precisions(problem, weights, found.values, x, y)
        evidence = log_evidence(problem, weights, found.values, x, y, alpha, beta)
        original = evidence - len(y) * problem.y_scale.double().log()
        return MarginalLaplacePosterior(weights, found, alpha, beta, original)

    def diagnostics(self, problem: Problem, posterior: MarginalLaplacePosterior) -> dict[str, Tensor]:
        """Return the prior precision, the log evidence, and the noise precision (if any) in original target units."""
        known = {"prior_precision": posterior.prior_precision, "log_evidence": posterior.log_evidence}
        if not _has_noise(problem):
            return known
        return known | {"noise_precision": posterior.noise_precision / problem.y_scale.double() ** 2}

    def predict(
        self, problem: Problem, posterior: MarginalLaplacePosterior, x: Tensor, noise: Noise, n_samples: int
    ) -> Predictive:
        alpha, beta = posterior.prior_precision, posterior.noise_precision
        unit = noise.normal(n_samples, len(posterior.mean)).double()
        deviations = posterior.spectrum.deviations(unit, alpha, beta)
        outputs = LINEARISED.linearised(problem.network, posterior.mean, deviations, x.double())
        return with_precisions(problem, alpha, beta).predictive_of_outputs(outputs)


def with_precisions(problem: Problem, alpha: Tensor, beta: Tensor) -> Problem:
    """Return the problem in float64 with a prior precision () and a noise precision () for standardised targets."""
    y_scale = problem.y_scale.double()
    hparams = HParams(prior_precision=alpha, noise_precision=beta / y_scale**2)
    n_train, y_mean = problem.n_train.double(), problem.y_mean.double()
    return replace(problem, hparams=hparams, n_train=n_train, y_mean=y_mean, y_scale=y_scale)


def log_evidence(
    problem: Problem, weights: Tensor, values: Tensor, x: Tensor, y: Tensor, alpha: Tensor, beta: Tensor
) -> Tensor:
    """Return the Laplace approximation of log p(y | alpha, beta), (), nats, for standardised targets.

    Args:
        problem: provides the network and the likelihood.
        weights: (T,), theta.
        values: (T,), eigenvalues of G.
        x: (N, P), training inputs.
        y: (N,), training targets.
        alpha: (), prior precision.
        beta: (), noise precision for standardised targets; 1 where the likelihood has none.
    """
    problem = with_precisions(problem, alpha, beta)
    fit = -problem.nll_of_outputs(problem.network(weights, x), y).sum()
    occam = torch.log1p(beta / alpha * values).sum()  # log |alpha I + beta G| - T log alpha
    return fit - 0.5 * alpha * weights.square().sum() - 0.5 * occam


def best_precisions(problem: Problem, weights: Tensor, values: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the prior and noise precision, () each, that maximise `log_evidence`.

    The noise precision is 1 for likelihoods without one.
    """
    squares = weights.square().sum()
    has_noise = _has_noise(problem)
    outputs = problem.network(weights, x)[:, 0]
    misfit = (outputs - y).square().sum().clamp(min=LEAST_NOISE * len(y))

    def loss(log_ratios: np.ndarray) -> np.ndarray:
        ratios = torch.as_tensor(log_ratios, device=x.device).exp()
        fit = len(y) * (misfit + ratios * squares).log() if has_noise else ratios * squares
        losses: np.ndarray = (fit + torch.log1p(values / ratios[..., None]).sum(-1)).cpu().numpy()
        return losses

    grid = np.log(RATIOS)
    best = int(np.argmin(loss(grid)))
    ends = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    found = minimize_scalar(lambda log_ratio: float(loss(np.array(log_ratio))), bounds=ends, method="bounded")
    ratio = x.new_tensor(float(found.x)).exp()
    beta = len(y) / (misfit + ratio * squares) if has_noise else torch.ones_like(ratio)
    return ratio * beta, beta


def spectrum_of(structure: str, problem: Problem, weights: Tensor, x: Tensor) -> Spectrum:
    """Return the eigenvalues and eigenvectors of the generalised Gauss-Newton matrix G, float64.

    Args:
        structure: a key of `STRUCTURES`.
        problem: provides the network and the likelihood.
        weights: (T,), theta.
        x: (N, P), training inputs.
    """
    one = torch.ones_like(weights[0])
    problem = with_precisions(problem, one, one)
    network = cast(MLP, problem.network)
    of_part, spectrum = STRUCTURES[structure]
    sums: Sums = ()
    for part in torch.split(x, max(1, JACOBIAN_NUMBERS // (network.dim * network.n_outputs))):
        added = of_part(network, weights, part, problem.fisher(network(weights, part)))
        sums = tuple(map(torch.add, sums, added)) if sums else added
    return spectrum(sums, len(x))


def _dense(network: MLP, weights: Tensor, x: Tensor, fisher: Tensor) -> Sums:
    return (LINEARISED.curvature(network, weights, x, fisher),)


def _of_dense(sums: Sums, n_rows: int) -> Spectrum:
    values, vectors = torch.linalg.eigh(sums[0])
    return Spectrum(values.clamp(min=0), ((vectors, vectors.new_ones(1, 1)),))


def _diagonal(network: MLP, weights: Tensor, x: Tensor, fisher: Tensor) -> Sums:
    j: Tensor = vmap(jacrev(lambda weights, x: network(weights, x[None])[0]), in_dims=(None, 0))(weights, x)
    return ((j * (fisher @ j)).sum((0, 1)),)


def _of_diagonal(sums: Sums, n_rows: int) -> Spectrum:
    return Spectrum(sums[0], ())


def _factors(network: MLP, weights: Tensor, x: Tensor, fisher: Tensor) -> Sums:
    """Return, for each layer, sum_n h_n h_n^T and sum_n J_n^T Lambda_n J_n."""
    pieces, inputs = network.split(weights), []

    def recorded(number: int, layer: Layer, h: Tensor) -> Tensor:
        inputs.append(torch.cat([h, torch.ones_like(h[:, :1])], 1) if network.bias else h)
        return layer(pieces[number], h)

    def shifted(shifts: tuple[Tensor, ...], x: Tensor) -> Tensor:
        return network.forward(x[None], lambda number, layer, h: layer(pieces[number], h) + shifts[number])[0]

    network.forward(x, recorded)
    zeros = tuple(weights.new_zeros(layer.fan_out) for layer in network.layers)
    jacobians = vmap(jacrev(shifted), in_dims=(None, 0))(zeros, x)
    sums: list[Tensor] = []
    for h, j in zip(inputs, jacobians, strict=True):
        sums += [h.T @ h, j.flatten(0, 1).T @ (fisher @ j).flatten(0, 1)]
    return tuple(sums)


def _of_factors(sums: Sums, n_rows: int) -> Spectrum:
    values, bases = [], []
    for of_inputs, of_outputs in zip(sums[::2], sums[1::2], strict=True):
        (d_in, u), (d_out, v) = torch.linalg.eigh(of_inputs / n_rows), torch.linalg.eigh(of_outputs)
        values.append(torch.outer(d_in.clamp(min=0), d_out.clamp(min=0)).flatten())
        bases.append((u, v))
    return Spectrum(torch.cat(values), tuple(bases))


# Structure -> what is summed over rows, and the spectrum of G from these sums and N.
STRUCTURES: dict[str, tuple[Callable[[MLP, Tensor, Tensor, Tensor], Sums], Callable[[Sums, int], Spectrum]]] = {
    "full": (_dense, _of_dense),
    "kron": (_factors, _of_factors),
    "diag": (_diagonal, _of_diagonal),
}


def _has_noise(problem: Problem) -> bool:
    return problem.likelihood.kind == "gaussian"


def _gradient(problem: Problem, weights: Tensor, batch: Batch) -> Tensor:
    """Return the gradient of the negative log posterior, (T,). `torch.func` takes twice as long for one network."""
    with torch.enable_grad():
        leaf = weights.detach().requires_grad_()
        gradient: Tensor = torch.autograd.grad(-problem.log_posterior(leaf, batch), leaf)[0]
    return gradient


def _minibatch(x: Tensor, y: Tensor, generator: torch.Generator) -> Batch:
    """Return all rows if they are few, else `MINIBATCH` rows drawn with replacement."""
    if len(x) > MINIBATCH:
        rows = torch.randint(len(x), (MINIBATCH,), generator=generator, device=x.device)
        x, y = x[rows], y[rows]
    return Batch(x[None], y[None])
