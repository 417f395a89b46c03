"""The reference sampler's parts in JAX: the log joint density and the NUTS kernel.

Needs the optional dependencies `reference`.

All computations are in float64 on the CPU, which is fastest for problems small enough for NUTS. JAX's global settings
are not changed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from numpyro.infer.hmc import HMCState, hmc

from lockstep_bench.methods.maths.likelihoods import LOG_2PI, MAX_LOG_VARIANCE
from lockstep_bench.methods.networks.mlp import MLP

Array = jax.Array | np.ndarray
ACTIVATIONS: dict[str, Callable[[Array], jax.Array]] = {
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
    "tanh": jnp.tanh,
}


class JaxPosterior(NamedTuple):
    """The data and precisions that define a posterior of weights.

    Attributes:
        x: (N, P), standardised features.
        y: (N,), standardised targets, or class numbers.
        present: (N,), 1 for a training row and 0 for a padding row, whose x and y are ignored.
        prior_precision: (), alpha.
        noise_precision: (), noise precision of the standardised target; ignored by likelihoods without one.
        noise_df: (), degrees of freedom of Student-t noise; ignored by other likelihoods.
    """

    x: Array
    y: Array
    present: Array
    prior_precision: ArrayLike
    noise_precision: ArrayLike
    noise_df: ArrayLike = 1.0


@contextmanager
def float64_on_the_cpu() -> Iterator[None]:
    """Let JAX compute in float64 on the CPU inside this context."""
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


def outputs(network: MLP, weights: jax.Array, x: Array) -> Array:
    """Return the network's outputs (N, O) at x (N, P) for flat weights (D,), as `MLP.__call__` does in torch."""
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


def _gaussian(out: Array, y: Array, precision: ArrayLike, df: ArrayLike) -> jax.Array:
    return 0.5 * (jnp.log(precision) - LOG_2PI - precision * (out[:, 0] - y) ** 2)


def _heteroscedastic(out: Array, y: Array, precision: ArrayLike, df: ArrayLike) -> jax.Array:
    return _gaussian(out, y, jnp.exp(-out[:, 1].clip(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)), df)


def _student_t(out: Array, y: Array, precision: ArrayLike, df: ArrayLike) -> jax.Array:
    return jax.scipy.stats.t.logpdf(y, df, out[:, 0], precision**-0.5)


def _bernoulli(out: Array, y: Array, precision: ArrayLike, df: ArrayLike) -> Array:
    return y * out[:, 0] - jax.nn.softplus(out[:, 0])


def _categorical(out: Array, y: Array, precision: ArrayLike, df: ArrayLike) -> jax.Array:
    return jnp.take_along_axis(jax.nn.log_softmax(out), y.astype(int)[:, None], axis=1)[:, 0]


# Kind -> function of (outputs (N, O), y (N,), noise precision of y, degrees of freedom) to log p(y | outputs), (N,).
LOG_LIKELIHOODS: dict[str, Callable[[Array, Array, ArrayLike, ArrayLike], Array]] = {
    "gaussian": _gaussian,
    "heteroscedastic": _heteroscedastic,
    "student-t": _student_t,
    "bernoulli": _bernoulli,
    "categorical": _categorical,
}


def log_joint(network: MLP, kind: str, weights: jax.Array, posterior: JaxPosterior) -> Array:
    """Return log p(y | x, weights) + log N(weights; 0, I / prior_precision), (), nats, for weights (D,)."""
    x, y, *_, precision, df = posterior
    data = LOG_LIKELIHOODS[kind](outputs(network, weights, x), y, precision, df)
    alpha = posterior.prior_precision
    log_prior = 0.5 * (network.dim * (jnp.log(alpha) - LOG_2PI) - alpha * weights @ weights)
    return data @ posterior.present + log_prior


class Transitions(NamedTuple):
    """Compiled transitions of one chain, for all posteriors of one network, likelihood and number of rows.

    Attributes:
        init: (seed, weights (D,), JaxPosterior) -> the state before the first transition.
        step: (state, JaxPosterior) -> the state after one more transition, during warm-up or after it.
    """

    init: Callable[[int, np.ndarray, JaxPosterior], HMCState]
    step: Callable[[HMCState, JaxPosterior], HMCState]


@cache
def transitions(network: MLP, kind: str, warmup: int, max_tree_depth: int) -> Transitions:
    """Return the transitions of NUTS; step size and diagonal mass matrix adapt during the first `warmup` transitions.

    Args:
        network: maps weights and x to outputs.
        kind: kind of likelihood, a key of `LOG_LIKELIHOODS`.
        warmup: number of adapting transitions.
        max_tree_depth: a transition has at most 2^max_tree_depth - 1 leapfrog steps.
    """

    def potential(posterior: JaxPosterior) -> Callable[[jax.Array], Array]:
        return lambda weights: -log_joint(network, kind, weights, posterior)

    # The data are arguments, not constants, so that one compiled program serves all folds.
    init, step = hmc(potential_fn_gen=potential, algo="NUTS")

    def start(seed: int, weights: np.ndarray, posterior: JaxPosterior) -> HMCState:
        key = jax.random.key(seed)
        return init(weights, warmup, max_tree_depth=max_tree_depth, model_args=(posterior,), rng_key=key)

    return Transitions(jax.jit(start), jax.jit(lambda state, posterior: step(state, (posterior,), {})))
