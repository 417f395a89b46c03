"""The reference sampler: draws from the exact weight posterior of a small network by NUTS.

The target is the posterior of the weights theta (D,) given N training rows,

    p(theta | x, y)  proportional to  prod_n p(y_n | f(x_n; theta)) N(theta; 0, I / alpha),

which methods with the same prior precision alpha and noise precision approximate. The implementation of the No-U-Turn
Sampler (Hoffman and Gelman 2014) is NumPyro's, which the extra `reference` of this package installs.

Measured on one core of a 2.7 GHz Xeon, busy, in float64, per 1000 draws: 7 s for the logistic regression of a1a (124
weights) and 84 s for a 50-unit network on yacht (401 weights, noise precision 10 of the standardised target), where
Pyro took 141 s and 1240 s; effective draws of the median weight per second were 104 (Pyro 4) and 10 (Pyro 0.8). Chains
run one after the other: two under `vmap` took 2.5 times as long, because each waits for the longest trajectory of all.
The mass matrix is diagonal: a dense one would need a warm-up of several draws per weight.

The weight posterior of a network with hidden units has symmetric modes, and no chain visits all of them. Chains should
therefore be compared by their predictions: `r_hat` and `effective_sample_size` accept any function of the draws.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from lockstep_bench.methods.maths.likelihoods import Likelihood
from lockstep_bench.methods.mcmc.diagnostics import effective_sample_size, r_hat
from lockstep_bench.methods.networks.mlp import MLP

__all__ = ["Draws", "MissingExtra", "effective_sample_size", "is_installed", "r_hat", "sample"]

MAX_TREE_DEPTH = 10  # trajectories of up to 2^10 - 1 leapfrog steps
START_BOUND = 2.0  # initial weights are U(-2, 2), as in Stan
REMEDY = "pip install 'lockstep-bench[reference]'"
ROWS_MULTIPLE = 64  # training sets are padded to a multiple of this, so that folds share one compiled program
PACKAGES = ("jax", "numpyro", "arviz_stats")
RECORDED = ("z", "diverging", "accept_prob", "num_steps")  # parts of NumPyro's state that draws keep


class MissingExtra(ImportError):
    """The optional dependencies `reference` (JAX and NumPyro), which the sampler needs, are not installed."""

    def __str__(self) -> str:
        return f"the reference sampler needs JAX, NumPyro and arviz-stats: {REMEDY}"


def is_installed() -> bool:
    """Return whether the optional dependencies `reference` (JAX and NumPyro) are installed, without importing them."""
    return all(find_spec(package) is not None for package in PACKAGES)


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of all chains after warm-up, with statistics of their trajectories.

    Attributes:
        weights: (chains, draws, D), drawn weights, float64.
        diverging: (chains, draws), whether the trajectory diverged, that is, its energy error exceeded NumPyro's limit.
        accept_prob: (chains, draws), mean acceptance probability along the trajectory; adapted towards 0.8.
        steps: (chains, draws), leapfrog steps of the trajectory.
        max_tree_depth: trajectories have at most 2^max_tree_depth - 1 leapfrog steps.
        seconds: wall-clock time, including compilation and warm-up.
    """

    weights: np.ndarray
    diverging: np.ndarray
    accept_prob: np.ndarray
    steps: np.ndarray
    max_tree_depth: int
    seconds: float

    @property
    def divergences(self) -> int:
        """The number of divergent trajectories; more than 0 where the step size is too large for the posterior."""
        return int(self.diverging.sum())

    @property
    def saturated(self) -> float:
        """The fraction of trajectories that reached the maximum tree depth before a U-turn."""
        return float((self.steps >= 2**self.max_tree_depth - 1).mean())

    @property
    def r_hat(self) -> np.ndarray:
        """R-hat of each weight, (D,).

        R-hat of hidden weights is uninformative, because hidden units can be permuted between chains.
        """
        return r_hat(self.weights)

    @property
    def effective_sample_size(self) -> np.ndarray:
        """Effective sample size of each weight, (D,)."""
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
    noise_df: float = 1.0,
    max_tree_depth: int = MAX_TREE_DEPTH,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Draws:
    """Sample the posterior of the network's weights given training data.

    Args:
        network: maps weights (D,) and x to outputs.
        likelihood: likelihood of y given the outputs.
        x: (N, P), standardised features.
        y: (N,), standardised targets of a regression, or class numbers.
        prior_precision: alpha, precision of the Gaussian prior.
        noise_precision: precision of Gaussian or Student-t noise, in original target units; None for other likelihoods.
        y_scale: standard deviation that the targets were divided by; 1 for classes.
        chains: number of independent chains. Each weight starts at U(-2, 2), or within two prior standard deviations
            if that is narrower.
        warmup: transitions of each chain before its first draw, during which step size and mass matrix adapt.
        draws: number of draws per chain.
        seed: seed of initial weights and chains; a non-negative integer.
        noise_df: degrees of freedom of Student-t noise; ignored by other likelihoods.
        max_tree_depth: a transition has at most 2^max_tree_depth - 1 leapfrog steps.
        progress: called after every transition with the fraction of transitions completed.

    Returns:
        The draws of all chains and statistics of their trajectories.

    Raises:
        MissingExtra: if the extra `reference` is not installed.
    """
    try:
        from lockstep_bench.methods.mcmc import nuts_jax
    except ModuleNotFoundError as missing:
        if missing.name not in PACKAGES:
            raise
        raise MissingExtra from missing

    started = time.perf_counter()
    generator = np.random.default_rng(seed)
    bound = min(START_BOUND, 2 / np.sqrt(prior_precision))
    starts = generator.uniform(-bound, bound, size=(chains, network.dim))
    seeds = generator.integers(2**32, size=chains)
    with nuts_jax.float64_on_the_cpu():
        precision = 1.0 if noise_precision is None else noise_precision * y_scale**2
        posterior = nuts_jax.JaxPosterior(*_padded(x, y), prior_precision, precision, noise_df)
        transitions = nuts_jax.transitions(network, likelihood.kind, warmup, max_tree_depth)
        length = warmup + draws
        recorded: dict[str, list[np.ndarray]] = {name: [] for name in RECORDED}
        for chain in range(chains):
            state = transitions.init(seeds[chain], starts[chain], posterior)
            for number in range(length):
                state = transitions.step(state, posterior)
                if number >= warmup:
                    for name, values in recorded.items():
                        values.append(np.asarray(getattr(state, name)))
                progress((chain * length + number + 1) / (chains * length))

    def by_chain(name: str) -> np.ndarray:
        values = np.stack(recorded[name])
        return values.reshape(chains, draws, *values.shape[1:])

    return Draws(
        weights=by_chain("z"),
        diverging=by_chain("diverging"),
        accept_prob=by_chain("accept_prob"),
        steps=by_chain("num_steps"),
        max_tree_depth=max_tree_depth,
        seconds=time.perf_counter() - started,
    )


def _padded(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, y and 1 for each row, all padded with zeros to the next multiple of `ROWS_MULTIPLE` rows."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    missing = -len(x) % ROWS_MULTIPLE
    present = np.concatenate([np.ones(len(x)), np.zeros(missing)])
    return np.pad(x, ((0, missing), (0, 0))), np.pad(y, (0, missing)), present
