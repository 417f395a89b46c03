"""A method under examination: tiny tasks of each kind, and fits that several checks share."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, wraps

import numpy as np
import optuna
import torch
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import RandomSampler

from lockstep_bench.bench.engine.explanations import explained
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.base import FullBatchMethod, Method
from lockstep_bench.methods.maths.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    Likelihood,
    StudentTNoise,
)
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

N_ROWS, N_FEATURES, HIDDEN = 40, 3, (8,)
TRAIN_ROWS, TEST_ROWS = np.arange(30), np.arange(30, 40)
N_SAMPLES, UPDATES, BATCH_SIZE = 7, 24, 5
SEEDS = (11, 12, 13)
# Of the fits of a stack. The third has the rows of the first and another seed; the second has a row less.
ROWS = (TRAIN_ROWS, np.roll(TRAIN_ROWS, 1)[1:], TRAIN_ROWS)
STEP = 2.0**-20  # of regression targets, so that to standardise a power of two times as large ones gives the same bits

LIKELIHOODS: dict[str, Likelihood] = {
    "regression": Gaussian((0.1, 10.0)),
    "heteroscedastic": HeteroscedasticGaussian(),
    "student-t": StudentTNoise((0.1, 10.0)),
    "binary": Bernoulli(),
    "3 classes": Categorical(3),
}
TASKS = tuple(
    Task(name, likelihood, MLP(N_FEATURES, HIDDEN, likelihood.n_outputs)) for name, likelihood in LIKELIHOODS.items()
)
REGRESSION = TASKS[0]


class Violation(AssertionError):
    """A method breaks a rule of the contract. The message says what was found, what is allowed, and what to do."""


class Doubt(Exception):
    """A method passes a check, but with a drawback; the message says what to improve."""


class Examined:
    """A method to be checked, and its fits that several checks share.

    Attributes:
        method: the method to check.
        candidates: tasks on which to check it, unless it excludes them.
        device: torch's name of the device that its fits are trained on.
        trained_natively: whether fits on one of the tasks were trained natively and compared.
    """

    trained_natively = False

    def __init__(self, method: Method, candidates: Sequence[Task], device: str = "cpu"):
        self.method, self.candidates, self.device = method, candidates, device
        # Cached per object, so that the fits are freed with it.
        self.stacked_fits, self.single_fit = cache(self._stacked_fits), cache(self._single_fit)

    @cached_property
    def tasks(self) -> list[Task]:
        """The candidates that the method does not exclude."""
        return [task for task in self.candidates if not self.method.excludes(task)]

    @property
    def source_of_randomness(self) -> str:
        """Name of the argument from which the method's fits get their random numbers, for messages."""
        return "`seed`" if isinstance(self.method, FullBatchMethod) else "`noise`"

    def _stacked_fits(self, task: Task) -> StackedFits:
        """Return three fits, trained as a stack, that differ in order of minibatches and noise, the second in rows."""
        return self.train(task, range(len(SEEDS)), stacked=self.method.stackable)

    def _single_fit(self, task: Task, number: int) -> Predictive:
        """Return the predictive of one of the three fits, trained alone and without `vmap`."""
        (predictive,) = self.predictives(self.train(task, (number,), stacked=False))
        return predictive

    def train(
        self,
        task: Task,
        numbers: Sequence[int],
        *,
        stacked: bool,
        data: Data | None = None,
    ) -> StackedFits:
        """Train fits of the method in float64 and return them.

        Args:
            task: the task to train on.
            numbers: numbers of the fits, from which their training rows and seeds follow.
            stacked: False trains one fit after the other, without `vmap`.
            data: the data to train on; by default those of `data_of`.
        """
        hparams = middle_of(self.method.search_space(task))
        fits = [Fit(ROWS[number], hparams, SEEDS[number]) for number in numbers]
        schedule = self.schedule(UPDATES)
        data = data or self.data_of(task)
        return train_stacked(self.method, task, data, fits, schedule, stacked=stacked, dtype=torch.float64)

    def schedule(self, updates: int) -> Schedule:
        """Return a schedule with the given number of updates, however many minibatches each of them uses."""
        return Schedule.exactly(self.method, len(TRAIN_ROWS), BATCH_SIZE, updates)

    def data_of(self, task: Task) -> Data:
        """Return the data of a task, on the device; see the function `data_of`."""
        return data_of(task, self.device)

    @staticmethod
    def predictives(fits: StackedFits) -> list[Predictive]:
        """Return the predictive of each fit at the test rows, on the CPU.

        Raises:
            Violation: if a number is NaN.
        """
        predictives = [
            type(predictive)(*(part.cpu() for part in predictive))
            for predictive in fits.predict([TEST_ROWS] * len(fits.fits), N_SAMPLES)
        ]
        for fit, predictive in zip(fits.fits, predictives, strict=True):
            require(
                not any(bool(part.isnan().any()) for part in predictive),
                f"predictions are NaN after {fits.schedule.plan.n_updates} updates at {in_words(fit.hparams)}, the "
                "middle of each range; move the search space, or keep the update finite there"
                if fit.hparams
                else "predictions are NaN",
            )
        return predictives


def on_every_task(rule: Callable[[Examined, Task], str]) -> Callable[[Examined], str]:
    """Turn a check on one task into a check on all tasks of a method; for use as a decorator.

    The result of the new check gives each detail once, with the tasks that it is about.
    """

    @wraps(rule)
    def on_all(examined: Examined) -> str:
        tasks_of: dict[str, list[str]] = {}  # detail -> the tasks
        for task in examined.tasks:
            try:
                tasks_of.setdefault(rule(examined, task), []).append(task.name)
            except Violation as violation:
                raise Violation(f"on the task {task.name!r}: {violation}") from None
            except Exception as error:
                raise Violation(f"on the task {task.name!r}: {explained(error, examined.method)}") from error
        return "; ".join(f"{detail} ({', '.join(names)})" for detail, names in tasks_of.items())

    return on_all


@cache
def data_of(task: Task, device: str = "cpu") -> Data:
    """Return 40 rows of data for a task: normal features, and a noisy sine of their sum as target.

    Targets of a regression are whole multiples of `STEP`, and the mean of the training rows is 0. For classification,
    the sine is cut into classes of equal size.
    """
    generator = np.random.default_rng(0)
    x = generator.standard_normal((N_ROWS, N_FEATURES))
    signal = np.sin(x.sum(axis=1)) + 0.1 * generator.standard_normal(N_ROWS)
    if task.likelihood.standardises:
        y = ((signal - signal[TRAIN_ROWS].mean()) / STEP).round() * STEP
        y[0] -= y[TRAIN_ROWS].sum()
        return Data.of(x, y, device)
    n_classes = max(2, task.likelihood.n_outputs)
    bounds = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return Data.of(x, np.digitize(signal, bounds).astype(float), device)


def middle_of(space: Mapping[str, BaseDistribution]) -> dict[str, float]:
    """Return the middle of each range of real numbers in a search space, on the range's scale, else a random value."""
    return {name: middle(distribution) for name, distribution in space.items()}


def middle(distribution: BaseDistribution) -> float:
    """Return the middle of a range of real numbers, on its (linear or log) scale; a random value for other ranges."""
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return math.sqrt(low * high) if distribution.log else (low + high) / 2
    return float(new_study().ask({"value": distribution}).params["value"])


def same_bits(first: Predictive, second: Predictive) -> bool:
    """Return whether two predictives are bitwise equal."""
    return all(torch.equal(*parts) for parts in zip(first, second, strict=True))


def new_study() -> optuna.Study:
    """Return an Optuna study with random search and a fixed seed, so that every study gives the same draws."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=RandomSampler(seed=0))


def in_words(hparams: Mapping[str, float]) -> str:
    """Return hyper-parameters as text: "lr = 0.01, prior_precision = 1"."""
    return ", ".join(f"{name} = {value:.3g}" for name, value in hparams.items())


def require(holds: bool, message: str) -> None:
    """Raise `Violation` with the message if a rule does not hold."""
    if not holds:
        raise Violation(message)
