"""JAX's loops make the same updates as the methods."""

from functools import partial

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.engine.timing import N_FEATURES, UCI_SIZED
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step
from lockstep_bench.methods.swag import Collection

NAMES = ("map", "mfvi", "vifa", "swag")
NETWORK = MLP(N_FEATURES)
HPARAMS = {"lr": 0.01, "prior_precision": 0.7, "noise_precision": 2.0}
N_UPDATES, N_TRAIN = 30, 277


@pytest.fixture
def loops():
    return pytest.importorskip("benchmarks.jax_loops", exc_type=ImportError)


def after_updates(loops, name):
    """Return the leaves of a state after 30 updates, ours and JAX's, from one start, minibatches and noise.

    Every fifth iterate is collected where the method collects.
    """
    import jax
    import jax.numpy as jnp

    method = methods.get(name)
    generator = torch.Generator().manual_seed(0)
    hparams = HParams(**{key: torch.tensor(value) for key, value in HPARAMS.items()})
    number = torch.tensor(float(N_TRAIN))
    problem = Problem(NETWORK, Gaussian((0.1, 1.0)), hparams, number, torch.tensor(0.0), torch.tensor(1.0))
    state = method.init(problem, Noise(torch.randn(5000, generator=generator)))
    of_jax = tuple(jnp.asarray(leaf.numpy()) for leaf in tree_leaves(state))
    jax_hparams = loops.JaxHParams(*(jnp.float32(HPARAMS[key]) for key in HPARAMS), jnp.float32(N_TRAIN))
    chosen = loops.LOOPS[name]
    update_jax = jax.jit(partial(chosen.update, NETWORK))  # as in the loops; operation by operation takes far longer
    x, y = (torch.tensor(array, dtype=torch.float32) for array in UCI_SIZED.data())
    for update in range(1, N_UPDATES + 1):
        rows = torch.randint(len(x), (chosen.minibatches, UCI_SIZED.batch_size), generator=generator)
        numbers = torch.randn(chosen.noise(NETWORK.dim), generator=generator)
        collected = chosen.collect is not None and update % 5 == 0
        count = torch.tensor(float(update))
        phase = Collection(collected, burn_in=0) if chosen.collect else None
        result = method.update(problem, state, Batch(x[rows], y[rows]), Noise(numbers), Step(count, phase))
        state = result[0] if type(result) is tuple else result
        batch = loops.JaxBatch(jnp.asarray(x[rows].numpy()), jnp.asarray(y[rows].numpy()))
        arguments = batch, jnp.asarray(numbers.numpy()), jnp.float32(update), jax_hparams
        of_jax = update_jax(of_jax, *arguments)
        if collected:
            of_jax = chosen.collect(of_jax)
    return [leaf.numpy() for leaf in tree_leaves(state)], [np.asarray(leaf) for leaf in of_jax]


@pytest.mark.parametrize("name", NAMES)
def test_jax_updates_equal_our_methods_updates(loops, name):
    ours, theirs = after_updates(loops, name)
    for leaf, of_jax in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(of_jax, leaf, rtol=1e-3, atol=1e-4 * max(1, np.abs(leaf).max()))


@pytest.mark.parametrize("name", NAMES)
def test_jax_initial_states_have_our_methods_shapes(loops, name):
    import jax.numpy as jnp

    hparams = HParams(**{key: torch.tensor(value) for key, value in HPARAMS.items()})
    problem = Problem(NETWORK, Gaussian((0.1, 1.0)), hparams, *(torch.tensor(1.0) for _ in range(3)))
    state = methods.get(name).init(problem, Noise(torch.zeros(5000)))
    shapes = [tuple(leaf.shape) for leaf in tree_leaves(state)]
    assert [leaf.shape for leaf in loops.LOOPS[name].init(jnp.ones(NETWORK.dim))] == shapes


def test_jax_swag_collects_iterates_when_our_swag_does(loops):
    import jax
    import jax.numpy as jnp

    loop, phases = loops.LOOPS["swag"], [False, False, True, False, True, False, True, False]
    states = jax.vmap(loop.init)(jnp.ones((2, NETWORK.dim)))
    hparams = loops.JaxHParams(*(jnp.full(2, value) for value in (1e-3, 1.0, 1.0, 277.0)))
    x, y = (jnp.asarray(array, jnp.float32) for array in UCI_SIZED.data())
    rows = jnp.zeros((len(phases), 2, 1, UCI_SIZED.batch_size), int)
    keys = jax.random.split(jax.random.key(0), 2)
    _, _, n_seen, mean, *_ = loops.train(loop, NETWORK, phases, states, keys, hparams, x, y, rows)
    assert n_seen.tolist() == [3, 3]
    assert np.isfinite(mean).all()
