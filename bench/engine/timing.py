"""Measurement of the time per update of one network, alone or among many that are trained together."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import optuna
import torch
from optuna.samplers import RandomSampler

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.native_training import MIN_UPDATES as MIN_NATIVE_UPDATES
from lockstep_bench.bench.engine.native_training import native_training, noted_obstacles
from lockstep_bench.bench.engine.replica import Data, Fit, ReplicaModel
from lockstep_bench.bench.engine.stack import Stack
from lockstep_bench.bench.engine.stacked_training import (
    Execution,
    initial_state,
    needs_of_phases,
    segments,
    train_stacked,
)
from lockstep_bench.bench.native.arithmetic import Work
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.likelihoods import Gaussian, HeteroscedasticGaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

N_FEATURES = 6
# What is timed is the difference of a longer and a shorter training, so that neither starting a stack nor capturing or
# compiling its update counts. The shorter one is long enough to be trained in the default way of a run.
MODEL_STEPS = 60_000  # of the difference, divided among the replicas, within the two limits
PRODUCTS = 2e9  # most products of a weight and a number in the difference; large fits make fewer updates
MIN_UPDATES, MAX_UPDATES = 128, 4096
SHORT_UPDATES = 128
ALONE, SHORT_ALONE = 192, 32  # updates without `vmap`, which are never captured or compiled
OBSERVED_UPDATES = 40  # of the training whose updates are timed one by one

# Of compiled loops, which are compared with those of other libraries: about how long one measurement takes, and what an
# update is taken to cost.
SECONDS, FEWEST, MOST = 0.05, 4, 1 << 14  # seconds, and limits of the number of updates
PER_SECOND = 3e10  # multiplications and additions


@dataclass(frozen=True)
class TimedFit:
    """Sizes of a network and of synthetic data, for which the time of updates is measured.

    Attributes:
        hidden: number of units of each hidden layer.
        batch_size: M, rows per minibatch.
        n_rows: N, number of training rows.
        predicted_noise: whether the network has a second output, the log variance of the noise.
    """

    hidden: tuple[int, ...] = (50,)
    batch_size: int = 10
    n_rows: int = 277
    predicted_noise: bool = False

    @property
    def network(self) -> MLP:
        """The multilayer perceptron whose updates are timed."""
        return MLP(N_FEATURES, self.hidden, 2 if self.predicted_noise else 1)

    @property
    def task(self) -> Task:
        """The regression task whose updates are timed."""
        likelihood = HeteroscedasticGaussian() if self.predicted_noise else Gaussian((0.01, 1.0))
        return Task("synthetic", likelihood, self.network)

    def schedule(self, method: Method, n_updates: int) -> Schedule:
        """Return a schedule with exactly `n_updates` updates, even for a method that sets its own number."""
        return Schedule.exactly(method, self.n_rows, self.batch_size, n_updates)

    def timed_updates(self, n_replicas: int) -> int:
        """Return the number of updates to time: the difference in length between a longer and a shorter training."""
        steps = min(MODEL_STEPS, int(PRODUCTS / (3 * self.network.dim * self.batch_size)))
        fewest = min(MIN_UPDATES, max(8, steps))
        return min(MAX_UPDATES, max(fewest, steps // n_replicas))

    def compared_updates(self, n_replicas: int) -> int:
        """Return how many updates of a stack take about `SECONDS` in a compiled loop."""
        operations = self.network.dim * (6 * self.batch_size + 60)
        return int(min(MOST, max(FEWEST, SECONDS * PER_SECOND / (operations * n_replicas))))

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the synthetic data: features (N, P) and targets (N,)."""
        x = np.random.default_rng(0).standard_normal((self.n_rows, N_FEATURES))
        return x, x.sum(axis=1)


UCI_SIZED = TimedFit()


def clock_for(device: str) -> Callable[[], float]:
    """Return a function that reads a clock in seconds.

    With one thread on the CPU, the clock measures the CPU time of the process. Other processes on the machine change
    CPU time less than wall-clock time, which can differ by a factor of 2 to 3 between runs on a busy machine.
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
    fit: TimedFit = UCI_SIZED,
) -> float:
    """Return the time of one update of one network on synthetic data, in microseconds.

    Args:
        method: the method to time, with random hyper-parameters from its search space.
        n_replicas: R, number of networks that are trained together. For an ensemble of m members it is rounded down to
            a multiple of m, but is at least m.
        execution: see `bench.engine.stacked_training.train_stacked`; None for its default, as in a run.
        device: cpu, cuda or cuda:N.
        stacked: False trains one network after the other.
        fit: sizes of the network and the data.
    """
    stacked = stacked and method.stackable
    fits, task = _fits(method, n_replicas, fit), fit.task
    data, clock = Data.of(*fit.data(), device), clock_for(device)
    train = train_stacked if execution is None else partial(train_stacked, execution=execution)

    def seconds(n_updates: int) -> float:
        started = clock()
        train(method, task, data, fits, fit.schedule(method, n_updates), stacked=stacked)
        return clock() - started

    n_networks = len(fits) * method.members
    short, timed = (SHORT_UPDATES, fit.timed_updates(n_networks)) if stacked else (SHORT_ALONE, ALONE)
    seconds(short)  # warms up, and compiles what the process then remembers
    return (seconds(short + timed) - seconds(short)) / (timed * n_networks) * 1e6


def median_microseconds(method: Method, n_replicas: int, execution: Execution, device: str = "cpu") -> float:
    """Return the median time of an update of one network over a single short training, in microseconds.

    One training takes a third of the time of `microseconds`. A graph is captured at the first update of a phase, which
    does not change the median.

    Args:
        method: see `microseconds`.
        n_replicas: R, see `microseconds`. One fit is trained without `vmap`, network after network.
        execution: "eager", or "captured".
        device: cpu, cuda or cuda:N.
    """
    fits, clock = _fits(method, n_replicas, UCI_SIZED), clock_for(device)
    done, times = [0], [clock()]

    def on_update(update: int) -> None:
        done.append(update)
        times.append(clock())

    schedule, data = UCI_SIZED.schedule(method, OBSERVED_UPDATES), Data.of(*UCI_SIZED.data(), device)
    stacked = n_replicas > 1
    train_stacked(
        method, UCI_SIZED.task, data, fits, schedule, execution=execution, stacked=stacked, on_update=on_update
    )
    return float(np.median(np.diff(times) / np.diff(done))) / (len(fits) * method.members) * 1e6


class NativeStack:
    """A stack that is trained by native loops, whose updates are timed and counted.

    The loops are compiled, and make an update, when the stack is made.

    Args:
        method: the method to time.
        n_replicas: R, see `microseconds`.
        fit: the fit whose updates are timed.

    Raises:
        RuntimeError: if the method has no native loop, or there is no compiler.
    """

    def __init__(self, method: Method, n_replicas: int, fit: TimedFit = UCI_SIZED):
        fits, n_updates = _fits(method, n_replicas, fit), fit.compared_updates(n_replicas)
        model, data = ReplicaModel(method, fit.task, torch.float32), Data.of(*fit.data())
        self._stack = stack = Stack.of(model, data, fits, standardise=True, parallel=True)
        self._schedule, self._n_networks = fit.schedule(method, n_updates), len(fits) * method.members
        self._phases = [method.phase(update, self._schedule.plan) for update in range(1, n_updates + 1)]
        with torch.no_grad(), noted_obstacles() as obstacles:
            state = initial_state(stack)
            needs = needs_of_phases(stack, state, self._schedule, self._phases)
            noise = stack.noise("update", max(need.noise_length for need in needs.values()))
            planned = fit.schedule(method, max(n_updates, MIN_NATIVE_UPDATES))
            training = native_training(stack, planned, state, noise, list(needs))
        if training is None:
            raise RuntimeError(f"{method.name} has no native loop: {obstacles.get(method.name)}")
        self._training = training
        training.advance(self._phases[0], next(stack.minibatches(self._schedule))[:1], 1)

    def microseconds(self) -> float:
        """Train the stack, and return the microseconds of an update of one network, with drawing its minibatches."""
        clock, phases = clock_for("cpu"), self._phases
        minibatches = self._stack.minibatches(self._schedule)  # seeds the orders of rows, once a training
        started, done = clock(), 0
        for rows in minibatches:
            for part in segments(phases, done + 1, len(rows), lambda update: False, self._training.at_once):
                self._training.advance(phases[done + part.start], rows[part], done + part.start + 1)
            done += len(rows)
        return (clock() - started) / (len(phases) * self._n_networks) * 1e6

    def work(self) -> Work:
        """Return what an update of one network computes, the mean over the updates that `microseconds` makes."""
        counted = {phase: loops.work for phase, loops in self._training.loops.items()}
        totals = (sum(numbers) for numbers in zip(*(counted[phase] for phase in self._phases), strict=True))
        return Work(*(total // len(self._phases) for total in totals))


def _fits(method: Method, n_replicas: int, fit: TimedFit) -> list[Fit]:
    """Return fits with random hyper-parameters that have `n_replicas` networks together; at least one fit."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    hparams = optuna.create_study(sampler=RandomSampler(seed=0)).ask(method.search_space(fit.task)).params
    return [Fit(np.arange(fit.n_rows), hparams, seed) for seed in range(max(1, n_replicas // method.members))]


def _synchronised() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()
