"""Microseconds that an update of one network takes, in a stack or alone."""

import time

import numpy as np
import optuna
import torch
from optuna.samplers import RandomSampler

from bench.engine.minibatches import Schedule
from bench.engine.replica import Data, Fit
from bench.engine.stacked_training import Execution, train_stacked
from methods.base import Method
from methods.maths.likelihoods import Gaussian
from methods.networks.mlp import MLP
from methods.problem import Task

N_ROWS, N_FEATURES, BATCH_SIZE = 277, 6, 10
MODEL_STEPS = 6000  # per measurement, divided among the replicas, within the two limits
MIN_UPDATES, MAX_UPDATES = 64, 256
WARM_UPDATES = 16


def microseconds(
    method: Method, n_replicas: int, execution: Execution, device: str = "cpu", stacked: bool = True
) -> float:
    """Return the microseconds of one update of one network on synthetic data.

    The first updates, and those in which the graph of a phase is captured, are not counted.

    Args:
        method: to be timed, with random hyper-parameters of its search space.
        n_replicas: R; of an ensemble of m members, rounded down to a multiple of m, but at least m.
        execution: see `bench.engine.stacked_training.train_stacked`.
        device: cpu, cuda or cuda:N.
        stacked: False trains one replica after the other.
    """
    n_fits = max(1, n_replicas // method.members)
    timed = min(MAX_UPDATES, max(MIN_UPDATES, MODEL_STEPS // (n_fits * method.members)))
    generator = np.random.default_rng(0)
    x = generator.standard_normal((N_ROWS, N_FEATURES))
    data = Data.of(x, x.sum(axis=1), device)
    task = Task("synthetic", Gaussian((0.01, 1.0)), MLP(N_FEATURES))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    hparams = optuna.create_study(sampler=RandomSampler(seed=0)).ask(method.search_space(task)).params
    fits = [Fit(np.arange(N_ROWS), hparams, seed) for seed in range(n_fits)]
    minibatches = (WARM_UPDATES + timed) * method.batches_per_update
    schedule = Schedule(N_ROWS, BATCH_SIZE, minibatches, method.batches_per_update, max_minibatches=minibatches)
    phases = [method.phase(update, schedule.plan) for update in range(1, schedule.plan.n_updates + 1)]
    captured = [update for update in range(WARM_UPDATES + 1, len(phases)) if phases[update] not in phases[:update]]
    clock = dict.fromkeys([WARM_UPDATES, len(phases), *captured, *(update + 1 for update in captured)], 0.0)

    def read_clock(update: int) -> None:
        if update in clock:
            if data.x.is_cuda:
                torch.cuda.synchronize()
            clock[update] = time.perf_counter()

    stacked = stacked and method.stackable
    train_stacked(method, task, data, fits, schedule, execution=execution, stacked=stacked, on_update=read_clock)
    capturing = sum(clock[update + 1] - clock[update] for update in captured)
    seconds = clock[len(phases)] - clock[WARM_UPDATES] - capturing
    return seconds / ((timed - len(captured)) * n_fits * method.members) * 1e6
