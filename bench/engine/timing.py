"""Microseconds that an update of one network takes, in a stack or alone."""

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import optuna
import torch
from optuna.samplers import RandomSampler

from bench.engine.minibatches import Schedule
from bench.engine.replica import Data, Fit
from bench.engine.stack import UPDATES_AT_ONCE
from bench.engine.stacked_training import Execution, train_stacked
from methods.base import Method
from methods.maths.likelihoods import Gaussian
from methods.networks.mlp import MLP
from methods.problem import Task

N_ROWS, N_FEATURES, BATCH_SIZE = 277, 6, 10
# The clock is read after blocks of updates, at whose ends every way of training has returned. The first block does not
# count, nor do those in which the graph of a phase is captured.
MODEL_STEPS = 60_000  # per measurement, divided among the replicas, within the two limits
MIN_BLOCKS, MAX_BLOCKS = 3, 32
BLOCKS_ALONE = 4


def schedule_for(method: Method, n_replicas: int, stacked: bool = True) -> Schedule:
    """Return the schedule of the updates that `microseconds` trains."""
    blocks = MODEL_STEPS // (n_replicas * UPDATES_AT_ONCE)
    blocks = min(MAX_BLOCKS, max(MIN_BLOCKS, blocks)) if stacked else BLOCKS_ALONE
    minibatches = (1 + blocks) * UPDATES_AT_ONCE * method.batches_per_update
    return Schedule(N_ROWS, BATCH_SIZE, minibatches, method.batches_per_update, max_minibatches=minibatches)


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
) -> float:
    """Return the microseconds of one update of one network on synthetic data.

    Args:
        method: to be timed, with random hyper-parameters of its search space.
        n_replicas: R; of an ensemble of m members, rounded down to a multiple of m, but at least m.
        execution: see `bench.engine.stacked_training.train_stacked`; None for its default, as in a run.
        device: cpu, cuda or cuda:N.
        stacked: False trains one replica after the other.
    """
    stacked = stacked and method.stackable
    n_fits = max(1, n_replicas // method.members)
    x, y = synthetic()
    task = Task("synthetic", Gaussian((0.01, 1.0)), MLP(N_FEATURES))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    hparams = optuna.create_study(sampler=RandomSampler(seed=0)).ask(method.search_space(task)).params
    fits = [Fit(np.arange(N_ROWS), hparams, seed) for seed in range(n_fits)]
    schedule = schedule_for(method, n_fits * method.members, stacked)
    clock, read = clock_for(device), [0.0]

    def read_clock(update: int) -> None:
        if update % UPDATES_AT_ONCE == 0:
            read.append(clock())

    train = train_stacked if execution is None else partial(train_stacked, execution=execution)
    train(method, task, Data.of(x, y, device), fits, schedule, stacked=stacked, on_update=read_clock)
    phases = [method.phase(update, schedule.plan) for update in range(1, schedule.plan.n_updates + 1)]
    first_of_phase = {phases.index(phase) // UPDATES_AT_ONCE for phase in dict.fromkeys(phases)}
    blocks = [end - start for start, end in pairwise(read)]
    counted = [seconds for number, seconds in enumerate(blocks) if number not in first_of_phase] or blocks[-1:]
    return sum(counted) / (len(counted) * UPDATES_AT_ONCE * n_fits * method.members) * 1e6


def synthetic() -> tuple[np.ndarray, np.ndarray]:
    """Return features (N, P) and targets (N,) to train on."""
    x = np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES))
    return x, x.sum(axis=1)


def _synchronised() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()
