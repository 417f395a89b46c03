"""What the checks look at: a method, tiny tasks of each kind, and fits of it that several checks share."""

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, wraps

import numpy as np
import optuna
import torch
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import RandomSampler

from bench.engine.minibatches import Schedule
from bench.engine.replica import Data, Fit
from bench.engine.stacked_fits import StackedFits
from bench.engine.stacked_training import train_stacked
from methods.base import Method
from methods.maths.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian
from methods.maths.predictive import Predictive
from methods.networks.mlp import MLP
from methods.problem import Task

N_ROWS, N_FEATURES, HIDDEN = 40, 3, (8,)
TRAIN_ROWS, TEST_ROWS = np.arange(30), np.arange(30, 40)
N_SAMPLES, UPDATES, BATCH_SIZE = 7, 24, 5
SEEDS = (11, 12, 13)

TASKS = tuple(
    Task(name, likelihood, MLP(N_FEATURES, HIDDEN, likelihood.n_outputs))
    for name, likelihood in {
        "regression": Gaussian((0.1, 10.0)),
        "heteroscedastic": HeteroscedasticGaussian(),
        "binary": Bernoulli(),
        "3 classes": Categorical(3),
    }.items()
)
REGRESSION = TASKS[0]


class Violation(AssertionError):
    """A broken rule of the contract; the message says what was found and what is wanted."""


class Examined:
    """A method, and the fits of it that several checks look at.

    Attributes:
        method: the method.
        candidates: the tasks to try it on.
        tasks: those of them that it can be used for.
    """

    def __init__(self, method: Method, candidates: Sequence[Task]):
        self.method, self.candidates = method, candidates
        # Cached per object, so that fits are given back with it.
        self.together, self.alone = cache(self._together), cache(self._alone)

    @cached_property
    def tasks(self) -> list[Task]:
        return [task for task in self.candidates if not self.method.excludes(task)]

    def _together(self, task: Task) -> StackedFits:
        """Three fits as the engine makes them, differing in rows, order of minibatches and noise."""
        return self.stack(task, range(len(SEEDS)))

    def _alone(self, task: Task, number: int) -> Predictive:
        """One of them alone and without vmap."""
        (found,) = self.predictives(self.stack(task, (number,), stacked=False))
        return found

    def stack(
        self, task: Task, numbers: range | tuple[int, ...], seeds: tuple[int, ...] = SEEDS, **options
    ) -> StackedFits:
        """Fits in float64, whose rows and seeds follow from their numbers."""
        space = self.method.search_space(task)
        hparams = {name: middle(one) for name, one in space.items()}
        fits = [Fit(np.roll(TRAIN_ROWS, number)[number:], hparams, seeds[number]) for number in numbers]
        options = {"stacked": self.method.stackable, "dtype": torch.float64} | options
        return train_stacked(self.method, task, data_of(task), fits, self.schedule(UPDATES), **options)

    def schedule(self, updates: int) -> Schedule:
        """So many updates of the method, whatever number of minibatches each takes."""
        minibatches = updates * self.method.batches_per_update
        return Schedule(len(TRAIN_ROWS), BATCH_SIZE, minibatches, self.method.batches_per_update, minibatches)

    @staticmethod
    def predictives(stack: StackedFits) -> list[Predictive]:
        """Each fit's predictive at the test rows."""
        return list(stack.predict([TEST_ROWS] * len(stack.fits), N_SAMPLES))


def on_every_task(rule: Callable[[Examined, Task], str]) -> Callable[[Examined], str]:
    """The rule for all tasks of a method; what it found is told with each task's name, or once where it is the same."""

    @wraps(rule)
    def on_all(examined: Examined) -> str:
        found = {}
        for task in examined.tasks:
            try:
                found[task.name] = rule(examined, task)
            except Violation as violation:
                raise Violation(f"on the task {task.name!r}: {violation}") from None
            except Exception as error:
                raise Violation(f"on the task {task.name!r}: {type(error).__name__}: {error}") from error
        if len(set(found.values())) == 1:
            return f"{next(iter(found.values()))} ({', '.join(found)})"
        return "; ".join(f"{name}: {detail}" for name, detail in found.items())

    return on_all


@cache
def data_of(task: Task) -> Data:
    """N_ROWS rows of normal features and a noisy sine of their sum, or equally many rows of each class along it."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((N_ROWS, N_FEATURES))
    signal = np.sin(x.sum(axis=1)) + 0.1 * generator.standard_normal(N_ROWS)
    if task.likelihood.standardises:
        return Data.of(x, signal)
    n_classes = max(2, task.likelihood.n_outputs)
    bounds = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return Data.of(x, np.digitize(signal, bounds).astype(float))


def middle(distribution: BaseDistribution) -> float:
    """A value in the middle of a distribution's range, on its own scale."""
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return math.sqrt(low * high) if distribution.log else (low + high) / 2
    return new_study().ask({"value": distribution}).params["value"]


def new_study() -> optuna.Study:
    """A study that draws at random, the same at every call."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=RandomSampler(seed=0))


def require(holds: bool, message: str) -> None:
    """Raises Violation with the message unless the rule holds."""
    if not holds:
        raise Violation(message)
