"""The reference sampler: draws from the exact posterior of a small network's weights, by NUTS.

The density is that of the weights theta (D,) given the N training rows,

    p(theta | x, y)  ~  prod_n p(y_n | f(x_n; theta)) N(theta; 0, I / alpha),

the posterior that approximate methods of the same prior precision alpha and noise precision approximate. The No-U-Turn
Sampler (Hoffman and Gelman 2014) is NumPyro's, which the extra `reference` installs.

Measured on one core of a 2.7 GHz Xeon, busy, in float64, per 1000 draws: 7 s for the logistic regression of a1a (124
weights) and 84 s for a 50-unit network on yacht (401 weights, noise precision 10 of the standardised target), where
Pyro took 141 s and 1240 s; effective draws of the median weight per second were 104 (Pyro 4) and 10 (Pyro 0.8). Chains
run one after the other: two under `vmap` took 2.5 times as long, as each waits for the longest trajectory of all. The
mass matrix is diagonal: a dense one would need a warm-up of several draws per weight.

Weights of a network with hidden units have symmetric modes, which no chain visits all, so chains are compared by what
they predict: `r_hat` and `effective_sample_size` take any function of the draws.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from methods.maths.likelihoods import Likelihood
from methods.mcmc.diagnostics import effective_sample_size, r_hat
from methods.networks.mlp import MLP

__all__ = ["Draws", "MissingExtra", "effective_sample_size", "is_installed", "r_hat", "sample"]

MAX_TREE_DEPTH = 10  # trajectories of up to 2^10 - 1 leapfrog steps
START_BOUND = 2.0  # of each weight, as in Stan
REMEDY = "pip install 'lockstep-bench[reference]'"
ROWS_MULTIPLE = 64  # training sets are filled up to it, so that folds share one compiled program


class MissingExtra(ImportError):
    """JAX or NumPyro is not installed."""

    def __str__(self) -> str:
        return f"the reference sampler needs JAX and NumPyro: {REMEDY}"


def is_installed() -> bool:
    """Whether the extra `reference` is there; imports nothing."""
    return find_spec("jax") is not None and find_spec("numpyro") is not None


@dataclass(frozen=True, eq=False)
class Draws:
    """What chains drew after their warm-up, and how it went.

    Attributes:
        weights: (chains, draws, D), float64.
        diverging: (chains, draws), whether the trajectory left the level set of its energy.
        accept_prob: (chains, draws), mean acceptance probability along the trajectory; adapted towards 0.8.
        steps: (chains, draws), leapfrog steps of the trajectory.
        max_tree_depth: at most 2^max_tree_depth - 1 leapfrog steps.
        seconds: wall-clock time, compilation and warm-up included.
    """

    weights: np.ndarray
    diverging: np.ndarray
    accept_prob: np.ndarray
    steps: np.ndarray
    max_tree_depth: int
    seconds: float

    @property
    def divergences(self) -> int:
        """Trajectories that diverged; 0 unless the posterior has places that the step size is too large for."""
        return int(self.diverging.sum())

    @property
    def saturated(self) -> float:
        """Fraction of trajectories that were cut off at the greatest depth before they turned back."""
        return float((self.steps >= 2**self.max_tree_depth - 1).mean())

    @property
    def r_hat(self) -> np.ndarray:
        """(D,), of each weight; means little for hidden weights, which may be permuted between chains."""
        return r_hat(self.weights)

    @property
    def effective_sample_size(self) -> np.ndarray:
        """(D,), of each weight."""
        return effective_sample_size(self.weights)


def sample(
    network: MLP,
    likelihood: Likelihood,
    x: np.ndarray,
    y: np.ndarray,
    prior_precision: float,
    noise_precision: float | None,
    y_scale: float,
    *,
    chains: int,
    warmup: int,
    draws: int,
    seed: int,
    max_tree_depth: int = MAX_TREE_DEPTH,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Draws:
    """Draws from the posterior of the network's weights given x (N, P) and y (N,), as the engine deals them.

    Args:
        network: maps weights and x to outputs.
        likelihood: of y given the outputs.
        x: standardised.
        y: standardised where it is a real number, else class numbers.
        prior_precision: alpha.
        noise_precision: of a Gaussian likelihood, in original target units; None for others.
        y_scale: that the target was divided by.
        chains: independent ones, which start overdispersed: U(-2, 2) for each weight, or within two prior standard
            deviations where that is narrower.
        warmup: transitions of each chain before its first draw, in which step size and mass matrix adapt.
        draws: of each chain.
        seed: fixes starts and chains; any integer from 0 up.
        max_tree_depth: at most 2^max_tree_depth - 1 leapfrog steps per transition.
        progress: called after every transition with the fraction of all that are done.

    Raises MissingExtra where the extra `reference` is not installed.
    """
    try:
        from methods.mcmc import nuts_jax
    except ModuleNotFoundError as missing:
        if missing.name not in ("jax", "numpyro"):
            raise
        raise MissingExtra from missing

    started = time.perf_counter()
    generator = np.random.default_rng(seed)
    bound = min(START_BOUND, 2 / np.sqrt(prior_precision))
    starts = generator.uniform(-bound, bound, size=(chains, network.dim))
    seeds = generator.integers(2**32, size=chains)
    found = []
    with nuts_jax.float64_on_the_cpu():
        precision = 1.0 if noise_precision is None else noise_precision * y_scale**2
        of = nuts_jax.Posterior(*_filled_up(x, y), prior_precision=prior_precision, noise_precision=precision)
        init, step = nuts_jax.kernel(network, likelihood.kind, warmup, max_tree_depth)
        for chain in range(chains):
            state = init(seeds[chain], starts[chain], of)
            for transition in range(warmup + draws):
                state = step(state, of)
                if transition >= warmup:
                    found.append([np.asarray(one) for one in _kept(state)])
                progress((chain * (warmup + draws) + transition + 1) / (chains * (warmup + draws)))
    parts = (np.stack(part).reshape(chains, draws, *part[0].shape) for part in zip(*found, strict=True))
    return Draws(*parts, max_tree_depth=max_tree_depth, seconds=time.perf_counter() - started)


def _kept(state) -> tuple:
    return state.z, state.diverging, state.accept_prob, state.num_steps


def _filled_up(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and which of their rows are present, filled up with empty places to the next multiple of ROWS_MULTIPLE."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    missing = -len(x) % ROWS_MULTIPLE
    present = np.concatenate([np.ones(len(x)), np.zeros(missing)])
    return np.pad(x, ((0, missing), (0, 0))), np.pad(y, (0, missing)), present
