"""What of the reference sampler runs in JAX: the log joint density and the NUTS kernel. Needs the extra `reference`.

Everything is in float64 and on the CPU, where a problem small enough for NUTS is at home; JAX's global settings are
left as they are.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.hmc import HMCState, hmc

from methods.maths.likelihoods import LOG_2PI, MAX_LOG_VARIANCE
from methods.networks.mlp import MLP

ACTIVATIONS = {"relu": jax.nn.relu, "softplus": jax.nn.softplus, "tanh": jnp.tanh}


class Posterior(NamedTuple):
    """What a log joint density is of, besides the weights.

    Attributes:
        x: (N, P), standardised.
        y: (N,), as dealt.
        present: (N,), 1 for a row and 0 for an empty place, whose x and y mean nothing.
        prior_precision: ().
        noise_precision: (), of the target as dealt; without meaning where the likelihood has none.
    """

    x: np.ndarray
    y: np.ndarray
    present: np.ndarray
    prior_precision: float
    noise_precision: float


@contextmanager
def float64_on_the_cpu() -> Iterator[None]:
    """JAX computes in float64 and on the CPU inside this block."""
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


def outputs(network: MLP, weights: jax.Array, x: jax.Array) -> jax.Array:
    """Outputs (N, O) of the network at x (N, P) for flat weights (D,), as `MLP.__call__`."""
    widths = (network.n_inputs, *network.hidden, network.n_outputs)
    start = 0
    for number, (fan_in, fan_out) in enumerate(pairwise(widths)):
        if number > 0:
            x = ACTIVATIONS[network.activation](x)
        end = start + fan_in * fan_out
        x = x @ weights[start:end].reshape(fan_in, fan_out)
        if network.bias:
            start, end = end, end + fan_out
            x = x + weights[start:end]
        start = end
    return x


def _gaussian(out: jax.Array, y: jax.Array, precision: jax.Array) -> jax.Array:
    return 0.5 * (jnp.log(precision) - LOG_2PI - precision * (out[:, 0] - y) ** 2)


def _heteroscedastic(out: jax.Array, y: jax.Array, precision: jax.Array) -> jax.Array:
    return _gaussian(out, y, jnp.exp(-out[:, 1].clip(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)))


def _bernoulli(out: jax.Array, y: jax.Array, precision: jax.Array) -> jax.Array:
    return y * out[:, 0] - jax.nn.softplus(out[:, 0])


def _categorical(out: jax.Array, y: jax.Array, precision: jax.Array) -> jax.Array:
    return jnp.take_along_axis(jax.nn.log_softmax(out), y.astype(int)[:, None], axis=1)[:, 0]


# kind of likelihood -> (outputs (N, O), y (N,), noise precision of y as dealt) -> log p(y | outputs) (N,)
LOG_LIKELIHOODS: dict[str, Callable[[jax.Array, jax.Array, jax.Array], jax.Array]] = {
    "gaussian": _gaussian,
    "heteroscedastic": _heteroscedastic,
    "bernoulli": _bernoulli,
    "categorical": _categorical,
}


def log_joint(network: MLP, kind: str, weights: jax.Array, of: Posterior) -> jax.Array:
    """log p(y | x, weights) + log N(weights; 0, I / prior_precision): ()."""
    data = LOG_LIKELIHOODS[kind](outputs(network, weights, of.x), of.y, of.noise_precision)
    log_precision = jnp.log(of.prior_precision)
    return data @ of.present + 0.5 * (network.dim * (log_precision - LOG_2PI) - of.prior_precision * weights @ weights)


class Kernel(NamedTuple):
    """Compiled steps of one chain, for every posterior of one network, likelihood and number of rows.

    Attributes:
        init: (seed, weights (D,), Posterior) -> the state before the first transition.
        step: (state, Posterior) -> the state after one more transition, of warm-up or not.
    """

    init: Callable[[int, np.ndarray, Posterior], HMCState]
    step: Callable[[HMCState, Posterior], HMCState]


@cache
def kernel(network: MLP, kind: str, warmup: int, max_tree_depth: int) -> Kernel:
    """NUTS whose step size, and whose mass of each weight, adapt during the first `warmup` transitions."""

    def potential(of: Posterior) -> Callable[[jax.Array], jax.Array]:
        return lambda weights: -log_joint(network, kind, weights, of)

    # The data are arguments, not constants, so that one compiled program serves all folds.
    init, step = hmc(potential_fn_gen=potential, algo="NUTS")

    def start(seed: int, weights: np.ndarray, of: Posterior) -> HMCState:
        key = jax.random.key(seed)
        return init(weights, warmup, max_tree_depth=max_tree_depth, model_args=(of,), rng_key=key)

    return Kernel(jax.jit(start), jax.jit(lambda state, of: step(state, (of,), {})))
