"""Microseconds that an update of one network takes, in a stack or alone."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import optuna
import torch
from optuna.samplers import RandomSampler

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import Execution, train_stacked
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

N_ROWS, N_FEATURES, BATCH_SIZE = 277, 6, 10
# What is timed is the difference of a longer and a shorter training, so that neither starting a stack nor capturing or
# compiling its update counts. The shorter one is long enough to be trained in the default way of a run.
MODEL_STEPS = 60_000  # of the difference, divided among the replicas, within the two limits
MIN_UPDATES, MAX_UPDATES = 128, 4096
SHORT_UPDATES = 128
ALONE, SHORT_ALONE = 192, 32  # updates without `vmap`, which are never captured or compiled


def schedule_for(method: Method, n_updates: int) -> Schedule:
    """Return a schedule of so many updates on the synthetic data."""
    minibatches = n_updates * method.batches_per_update
    return Schedule(N_ROWS, BATCH_SIZE, minibatches, method.batches_per_update, max_minibatches=minibatches)


def timed_updates(n_replicas: int, model_steps: int = MODEL_STEPS) -> int:
    """Return by how many updates the longer training of a stack is longer."""
    return min(MAX_UPDATES, max(MIN_UPDATES, model_steps // n_replicas))


def clock_for(device: str) -> Callable[[], float]:
    """Return a function that reads a clock in seconds.

    With one thread on the CPU, it is the computing time of the process, which other processes change less than time on
    the wall: in two runs beside other work, one of which got a third to a half of its core, the latter differed by a
    factor of 2 to 3.
    """
    if device != "cpu":
        return _synchronised
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


def microseconds(
    method: Method,
    n_replicas: int,
    execution: Execution | None = None,
    device: str = "cpu",
    stacked: bool = True,
    model_steps: int = MODEL_STEPS,
) -> float:
    """Return the microseconds of one update of one network on synthetic data.

    Args:
        method: to be timed, with random hyper-parameters of its search space.
        n_replicas: R; of an ensemble of m members, rounded down to a multiple of m, but at least m.
        execution: see `bench.engine.stacked_training.train_stacked`; None for its default, as in a run.
        device: cpu, cuda or cuda:N.
        stacked: False trains one replica after the other.
        model_steps: updates that are timed, summed over the replicas of a stack, about.
    """
    stacked = stacked and method.stackable
    n_fits = max(1, n_replicas // method.members)
    x, y = synthetic()
    task = Task("synthetic", Gaussian((0.01, 1.0)), MLP(N_FEATURES))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    hparams = optuna.create_study(sampler=RandomSampler(seed=0)).ask(method.search_space(task)).params
    fits = [Fit(np.arange(N_ROWS), hparams, seed) for seed in range(n_fits)]
    data, clock = Data.of(x, y, device), clock_for(device)
    train = train_stacked if execution is None else partial(train_stacked, execution=execution)

    def seconds(n_updates: int) -> float:
        started = clock()
        train(method, task, data, fits, schedule_for(method, n_updates), stacked=stacked)
        return clock() - started

    n_networks = n_fits * method.members
    short, timed = (SHORT_UPDATES, timed_updates(n_networks, model_steps)) if stacked else (SHORT_ALONE, ALONE)
    seconds(short)  # warms up, and compiles what the process then remembers
    return (seconds(short + timed) - seconds(short)) / (timed * n_networks) * 1e6


def synthetic() -> tuple[np.ndarray, np.ndarray]:
    """Return features (N, P) and targets (N,) to train on."""
    x = np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES))
    return x, x.sum(axis=1)


def _synchronised() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()
