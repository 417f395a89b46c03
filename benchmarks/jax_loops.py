"""Training loops of four methods in JAX, with whose speed ours is compared. Needs the extra `reference`.

Each loop is what a user of JAX would write: `update` moves one network, `vmap` all networks of a stack, `lax.scan`
repeats it, and `jit` compiles the whole. Noise is drawn by JAX inside the loop, and minibatches are gathered there from
row indices. The updates are those of `methods.map`, `methods.mfvi`, `methods.vifa` with one factor and `methods.swag`,
on networks of ReLU units with a Gaussian likelihood, of constant or of predicted noise. Values that only diagnostics
need are left out. In JAX's favour, x and y are standardised beforehand, where the engine standardises each minibatch
with the statistics of the replica's training rows.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from lockstep_bench import methods
from lockstep_bench.bench.engine.timing import UCI_SIZED, TimedFit, clock_for
from lockstep_bench.methods.maths.likelihoods import MAX_LOG_VARIANCE
from lockstep_bench.methods.mfvi import INITIAL_LOG_SD
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.swag import RANK, Collection
from lockstep_bench.methods.training import sgd
from lockstep_bench.methods.training.optim import EPSILON, MEAN_DECAY, MOMENTUM, SQUARE_DECAY
from lockstep_bench.methods.vifa import MAX_GRADIENT_NORM

VIFA_SAMPLES = 4
INITIAL_SD = 0.3


class JaxHParams(NamedTuple):
    """Hyper-parameters and constants of one fit, each a scalar array ()."""

    lr: Array
    prior_precision: Array
    noise_precision: Array  # of the standardised target
    n_train: Array


class JaxBatch(NamedTuple):
    """The data of one update: L minibatches of M standardised rows each."""

    x: Array  # (L, M, P)
    y: Array  # (L, M)


# A state is a tuple of arrays, in the order of the leaves of the method's state.
State = tuple[Array, ...]
Carry = tuple[State, Array]  # states and keys, each with a leading axis of R


class JaxLoop(NamedTuple):
    """The training loop of a method for a single network, in JAX.

    Attributes:
        init: function of the initial weights (D,) that returns the state before training.
        update: function (network, state, batch, noise (T,), number of the update, hyper-parameters) -> next state.
        noise: function that returns T, how many random numbers an update draws for D weights.
        minibatches: L, how many minibatches an update uses.
        collect: function (state) -> state after its iterate is added to the running moments; None if none are
            collected.
    """

    init: Callable[[Array], State]
    update: Callable[[MLP, State, JaxBatch, Array, Array, JaxHParams], State]
    noise: Callable[[int], int]
    minibatches: int = 1
    collect: Callable[[State], State] | None = None


def outputs(network: MLP, weights: Array, x: Array) -> Array:
    """Return the outputs (M, O) of a network at x (M, P), for flat weights (D,)."""
    sizes, start = (x.shape[1], *network.hidden, network.n_outputs), 0
    for layer, (given, wanted) in enumerate(pairwise(sizes)):
        if layer:
            x = jax.nn.relu(x)
        end = start + given * wanted
        x = x @ weights[start:end].reshape(given, wanted) + weights[end : end + wanted]
        start = end + wanted
    return x


def mean_error(network: MLP, weights: Array, x: Array, y: Array) -> Array:
    """Return the training loss of a minibatch, ().

    With one output it is half the mean squared error; with two it is the mean Gaussian NLL without its constant.
    """
    predicted = outputs(network, weights, x)
    if network.n_outputs == 1:
        return 0.5 * jnp.mean((predicted[:, 0] - y) ** 2)
    log_variance = jnp.clip(predicted[:, 1], -MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)
    return 0.5 * jnp.mean((predicted[:, 0] - y) ** 2 * jnp.exp(-log_variance) + log_variance)


def adam(state: State, gradient: Array, count: Array, lr: Array) -> State:
    """Return the parameters and Adam's two running means after one step of Adam."""
    params, mean, square = state
    mean = MEAN_DECAY * mean + (1 - MEAN_DECAY) * gradient
    square = SQUARE_DECAY * square + (1 - SQUARE_DECAY) * gradient**2
    root = jnp.sqrt(1 - SQUARE_DECAY**count)
    step = lr * root / (1 - MEAN_DECAY**count)
    return params - step * mean / (jnp.sqrt(square) + EPSILON * root), mean, square


def clip_norm(gradient: Array, max_norm: float) -> Array:
    """Return a gradient, rescaled to the norm `max_norm` if its norm is larger."""
    return gradient * jnp.minimum(1, max_norm / jnp.linalg.norm(gradient))


def with_adam(params: Array) -> State:
    """Return the parameters with Adam's two running means (zeros) before its first step."""
    return params, jnp.zeros_like(params), jnp.zeros_like(params)


def map_update(network: MLP, state: State, batch: JaxBatch, noise: Array, count: Array, hparams: JaxHParams) -> State:
    """Return the state of MAP after an update."""
    error = jax.grad(partial(mean_error, network))(state[0], batch.x[0], batch.y[0])
    gradient = hparams.n_train * hparams.noise_precision * error + hparams.prior_precision * state[0]
    return adam(state, gradient, count, hparams.lr)


def mfvi_update(network: MLP, state: State, batch: JaxBatch, noise: Array, count: Array, hparams: JaxHParams) -> State:
    """Return the state of mean-field VI after an update."""

    def negative_elbo(params: Array) -> Array:
        mean, log_sd = params
        sd = jnp.exp(log_sd)
        error = mean_error(network, mean + sd * noise, batch.x[0], batch.y[0])
        divergence = jnp.sum(0.5 * hparams.prior_precision * (mean**2 + sd**2) - log_sd)
        return hparams.n_train * hparams.noise_precision * error + divergence

    return adam(state, jax.grad(negative_elbo)(state[0]), count, hparams.lr)


def vifa_update(network: MLP, state: State, batch: JaxBatch, noise: Array, count: Array, hparams: JaxHParams) -> State:
    """Return the state of VIFA with one factor after an update."""
    mean, factor, log_variance = state[0]
    variance, sd = jnp.exp(log_variance), jnp.exp(0.5 * log_variance)
    n_samples = len(batch.y)
    latent, unit = noise[:n_samples, None], noise[n_samples:].reshape(n_samples, -1)
    gradient_at = jax.vmap(jax.grad(partial(mean_error, network)))
    errors = gradient_at(mean + latent * factor + sd * unit, batch.x, batch.y)
    gradients = hparams.n_train * hparams.noise_precision * errors  # (L, D)
    scaled = factor / variance
    inverse_times_factor = scaled / (1 + factor @ scaled)
    inverse_diagonal = 1 / variance - inverse_times_factor * scaled
    alpha = hparams.prior_precision
    of_mean = alpha * mean + gradients.mean(0)
    of_factor = alpha * factor - inverse_times_factor + (latent * gradients).mean(0)
    of_log_variance = 0.5 * (variance * (alpha - inverse_diagonal) + sd * (unit * gradients).mean(0))
    clipped = [clip_norm(block, MAX_GRADIENT_NORM) for block in (of_mean, of_factor, of_log_variance)]
    return adam(state, jnp.stack(clipped), count, hparams.lr)


def swag_update(network: MLP, state: State, batch: JaxBatch, noise: Array, count: Array, hparams: JaxHParams) -> State:
    """Return the state of SWAG after a step of its trajectory."""
    weights, velocity, *collected = state
    error = jax.grad(partial(mean_error, network))(weights, batch.x[0], batch.y[0])
    decay = hparams.prior_precision / (hparams.n_train * hparams.noise_precision)
    velocity = MOMENTUM * velocity + clip_norm(error + decay * weights, sgd.MAX_GRADIENT_NORM)
    return weights - hparams.lr * velocity, velocity, *collected


def swag_collect(state: State) -> State:
    """Return the state of SWAG after its iterate is added to the moments and to the deviations."""
    weights, velocity, n_seen, mean, variance, *deviations = state
    n_seen = n_seen + 1
    change = weights - mean
    mean = mean + change / n_seen
    deviation = weights - mean
    variance = variance + (change * deviation - variance) / n_seen
    return weights, velocity, n_seen, mean, variance, *deviations[1:], deviation


def swag_init(weights: Array) -> State:
    """Return the state of SWAG before training."""
    zeros = jnp.zeros_like(weights)
    return weights, zeros, jnp.zeros(()), zeros, zeros, *(zeros for _ in range(RANK))


LOOPS = {
    "map": JaxLoop(with_adam, map_update, lambda dim: 0),
    "mfvi": JaxLoop(
        lambda weights: with_adam(jnp.stack([weights, jnp.full_like(weights, INITIAL_LOG_SD)])),
        mfvi_update,
        lambda dim: dim,
    ),
    "vifa": JaxLoop(
        lambda weights: with_adam(
            jnp.stack([jnp.zeros_like(weights), weights / jnp.linalg.norm(weights), jnp.zeros_like(weights)])
        ),
        vifa_update,
        lambda dim: VIFA_SAMPLES * (dim + 1),
        VIFA_SAMPLES,
    ),
    "swag": JaxLoop(swag_init, swag_update, lambda dim: 0, collect=swag_collect),
}


def timed_loop(name: str, n_replicas: int, fit: TimedFit = UCI_SIZED) -> Callable[[], float]:
    """Return a function that trains a stack and returns the microseconds of one update of one network.

    Data, network and number of updates are those of `bench.engine.timing.NativeStack`. The loop is compiled, and run
    once, before the function is returned.

    Args:
        name: name of the method, a key of `LOOPS`.
        n_replicas: R, number of networks in the stack.
        fit: the fit that is timed.
    """
    method, loop, network = methods.get(name), LOOPS[name], fit.network
    n_updates = fit.compared_updates(n_replicas)
    schedule = fit.schedule(method, n_updates)
    phases = [method.phase(update, schedule.plan) for update in range(1, n_updates + 1)]
    collected = [isinstance(phase, Collection) and phase.takes_iterate for phase in phases]
    x, y = (jnp.asarray(array, jnp.float32) for array in fit.data())
    keys = jax.random.split(jax.random.key(0), n_replicas)
    states = jax.vmap(lambda key: loop.init(INITIAL_SD * jax.random.normal(key, (network.dim,))))(keys)
    hparams = JaxHParams(*(jnp.full(n_replicas, value) for value in (1e-3, 1.0, 1.0, len(x))))
    shape = n_updates, n_replicas, loop.minibatches, schedule.minibatch
    rows = jnp.asarray(np.random.default_rng(0).integers(len(x), size=shape, dtype=np.int32))
    run, clock = jax.jit(partial(train, loop, network, collected)), clock_for("cpu")

    def microseconds() -> float:
        started = clock()
        run(states, keys, hparams, x, y, rows)[0].block_until_ready()
        return (clock() - started) / (n_updates * n_replicas) * 1e6

    microseconds()
    return microseconds


def train(
    loop: JaxLoop,
    network: MLP,
    phases: Sequence[bool],
    states: State,
    keys: Array,
    hparams: JaxHParams,
    x: Array,
    y: Array,
    rows: Array,
) -> State:
    """Return the states of a stack of R networks after training; each of their arrays has a leading axis of R.

    Args:
        loop: the method.
        network: network of all replicas.
        phases: whether the iterate of each update is collected; these updates are evenly spaced.
        states: states before training, with a leading axis of R.
        keys: (R,), random keys of the noise.
        hparams: hyper-parameters, (R,) each.
        x: (N, P), standardised.
        y: (N,), standardised.
        rows: (updates, R, L, M), indices of the minibatches' rows.
    """
    n_noise = loop.noise(network.dim)

    def update_one(state: State, key: Array, rows: Array, count: Array, hparams: JaxHParams) -> tuple[State, Array]:
        key, draws = jax.random.split(key)
        noise = jax.random.normal(draws, (n_noise,))
        return loop.update(network, state, JaxBatch(x[rows], y[rows]), noise, count, hparams), key

    update_all = jax.vmap(update_one, in_axes=(0, 0, 0, None, 0))

    def update(carry: Carry, inputs: tuple[Array, ...]) -> tuple[Carry, None]:
        count, rows = inputs
        return update_all(*carry, rows, count, hparams), None

    def updates(carry: Carry, start: int, end: int) -> Carry:
        return lax.scan(update, carry, (counts[start:end], rows[start:end]))[0]

    counts, carry, done = jnp.arange(1.0, len(phases) + 1), (states, keys), 0
    ends = [number for number, collected in enumerate(phases, start=1) if collected]
    if loop.collect and len(ends) > 1:
        # A condition inside the scan would copy the whole state at every update. A scan over groups does not.
        collect, every = jax.vmap(loop.collect), ends[1] - ends[0]

        def group(carry: Carry, inputs: tuple[Array, ...]) -> tuple[Carry, None]:
            (states, keys), _ = lax.scan(update, carry, inputs)
            return (collect(states), keys), None

        first, done = ends[0] - every, ends[-1]
        groups = tuple(each[first:done].reshape(-1, every, *each.shape[1:]) for each in (counts, rows))
        carry, _ = lax.scan(group, updates(carry, 0, first), groups)
    return updates(carry, done, len(phases))[0]
