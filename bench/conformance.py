"""Does an adapter keep the method contract? What `python -m methods check NAME` runs.

Each check is a function of a method under examination that returns what it found, in words, or raises `Violation`. They
run in seconds, on a tiny task of each kind that the method can be used for.
"""

import io
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from itertools import product

import numpy as np
import optuna
import torch
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import RandomSampler

from bench import conjugate, metrics, speed
from bench.minibatches import Schedule
from bench.placement import stray
from bench.row import Data, Fit
from bench.stack import Stack
from methods.base import Method, Paper
from methods.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian
from methods.networks import MLP
from methods.predictive import Classes, Normals, Predictive
from methods.problem import Task

N_ROWS, N_FEATURES, HIDDEN = 40, 3, (8,)
TRAIN_ROWS, TEST_ROWS = np.arange(30), np.arange(30, 40)
N_SAMPLES = 7
UPDATES, SPACE_UPDATES = 24, 60
SEEDS = (11, 12, 13)
TOLERANCE = 1e-8  # relative, in float64, between a fit in a stack and the same fit alone
SPACE_DRAWS = 24
CONJUGATE_SEEDS, CONJUGATE_UPDATES, CONJUGATE_SAMPLES = 8, 6000, 2000
MEAN_TOLERANCE = 0.25  # exact posterior standard deviations, mean over the seeds
SPREAD_TOLERANCE = 0.15  # relative, mean over the seeds
MAX_LOG_CORNERS = 6

TASKS = tuple(
    Task(name, likelihood, MLP(N_FEATURES, HIDDEN, likelihood.n_outputs))
    for name, likelihood in {
        "regression": Gaussian((0.1, 10.0)),
        "heteroscedastic": HeteroscedasticGaussian(),
        "binary": Bernoulli(),
        "3 classes": Categorical(3),
    }.items()
)


class Violation(AssertionError):
    """A broken rule of the contract; the message says what was found and what is wanted."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: its title.
        passed: whether the rule holds.
        detail: what was found.
    """

    check: str
    passed: bool
    detail: str


class Examined:
    """A method, and the fits of it that several checks look at.

    Attributes:
        method: the method.
        tasks: those of `TASKS` that it can be used for.
    """

    def __init__(self, method: Method):
        self.method = method
        # Cached per object, so that fits are given back with it.
        self.together, self.alone = cache(self._together), cache(self._alone)

    @cached_property
    def tasks(self) -> list[Task]:
        return [task for task in TASKS if not self.method.excludes(task)]

    def _together(self, task: Task) -> Stack:
        """Three fits as the engine makes them, differing in rows, order of minibatches and noise."""
        return self.stack(task, range(len(SEEDS)))

    def _alone(self, task: Task, number: int) -> Predictive:
        """One of them alone and without vmap."""
        (found,) = self.predictives(self.stack(task, (number,), stacked=False))
        return found

    def stack(self, task: Task, numbers: range | tuple[int, ...], seeds: tuple[int, ...] = SEEDS, **options) -> Stack:
        """Fits in float64, whose rows and seeds follow from their numbers."""
        space = self.method.search_space(task)
        hparams = {name: _middle(one) for name, one in space.items()}
        fits = [Fit(np.roll(TRAIN_ROWS, number)[number:], hparams, seeds[number]) for number in numbers]
        options = {"stacked": self.method.stackable, "dtype": torch.float64} | options
        return Stack(self.method, task, _data(task), fits, self.schedule(UPDATES), **options)

    def schedule(self, updates: int) -> Schedule:
        minibatches = updates * self.method.batches_per_update
        return Schedule(len(TRAIN_ROWS), 5, minibatches, self.method.batches_per_update, minibatches)

    @staticmethod
    def predictives(stack: Stack) -> list[Predictive]:
        return list(stack.predict([TEST_ROWS] * len(stack.fits), N_SAMPLES))


def check(method: Method) -> Iterator[Finding]:
    """Run all checks on a method, yielding each outcome as it is known; an exception inside is a failed check."""
    examined = Examined(method)
    for title, rule in RULES.items():
        try:
            yield Finding(title, True, rule(examined))
        except Violation as violation:
            yield Finding(title, False, str(violation))
        except Exception as error:
            yield Finding(title, False, f"{type(error).__name__}: {error}")


def _on_every_task(rule: Callable[[Examined, Task], str]) -> Callable[[Examined], str]:
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


def declares_itself(examined: Examined) -> str:
    """Name, title, paper and search spaces are there and of the right kind."""
    method = examined.method
    for attribute in ("name", "title"):
        value = getattr(method, attribute, None)
        _require(isinstance(value, str) and value, f"`{attribute}` is {value!r}; it must be a non-empty string")
    _require(isinstance(getattr(method, "paper", None), Paper), "`paper` is missing; it must be a methods.base.Paper")
    for attribute in ("batches_per_update", "members"):
        value = getattr(method, attribute)
        _require(isinstance(value, int) and value >= 1, f"`{attribute}` is {value!r}; it must be an integer from 1 up")
    reasons = {task.name: method.excludes(task) for task in TASKS}
    _require(bool(examined.tasks), f"it excludes every task: {reasons}")
    for task in examined.tasks:
        for space in (method.search_space, method.wide_space):
            wrong = [name for name, one in space(task).items() if not isinstance(one, BaseDistribution)]
            _require(not wrong, f"{space.__name__} gives no Optuna distribution for {', '.join(wrong)}")
    return f"tunes {', '.join(method.search_space(examined.tasks[0]))}; for {', '.join(t.name for t in examined.tasks)}"


@_on_every_task
def state_keeps_its_shape(examined: Examined, task: Task) -> str:
    """`update` returns a state like the one it got; `Stack` refuses anything else."""
    stack = examined.together(task)  # raises when a state changes its structure
    return f"{stack.n_parameters} numbers for {stack.n_weights} weights"


@_on_every_task
def stack_equals_alone(examined: Examined, task: Task) -> str:
    """Three fits side by side give what each gives alone, without vmap, from the same seed; float64."""
    together = examined.predictives(examined.together(task))
    # In another order, so that what a fit leaves behind in the method meets another fit.
    for number in reversed(range(len(SEEDS))):
        alone = examined.alone(task, number)
        worst = max(_difference(ours, its) for ours, its in zip(together[number], alone, strict=True))
        _require(
            worst < TOLERANCE,
            f"fit {number + 1} of {len(SEEDS)} in a stack differs from the same fit alone by {worst:.1e} (relative); "
            f"allowed {TOLERANCE:.0e}. Does an operation mix the rows, does the method keep something in `self`, or "
            "does randomness come from elsewhere than `noise`?",
        )
    return "the same"


@_on_every_task
def is_deterministic(examined: Examined, task: Task) -> str:
    """The same seed gives the same bits whatever the global generators hold; another seed gives others."""
    found = []
    for state in (1, 2):
        torch.manual_seed(state)
        np.random.seed(state)  # noqa: NPY002 (it is the legacy global state that must not matter)
        random.seed(state)
        before = torch.get_rng_state()
        (one,) = examined.predictives(examined.stack(task, (0,), stacked=False))
        _require(
            torch.equal(before, torch.get_rng_state()), "it draws from torch's global generator; draw from `noise`"
        )
        found.append(one)
    equal = all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    _require(equal, "the same seed gave two results; all randomness must come from `noise`")
    (other,) = examined.predictives(examined.stack(task, (0,), seeds=SEEDS[1:], stacked=False))
    _require(not torch.equal(found[0][0], other[0]), "two seeds gave the same result; `noise` seems unused")
    return "the same seed gives the same bits, another seed others"


@_on_every_task
def keeps_to_its_device(examined: Examined, task: Task) -> str:
    """No step makes a tensor elsewhere than where the data are; tried without a GPU."""
    method = examined.method
    if not method.stackable:
        return "not looked at: a foreign library's own business"
    hparams = {name: _middle(one) for name, one in method.search_space(task).items()}
    found = stray(method, task, _data(task), hparams, examined.schedule(UPDATES), N_SAMPLES)
    _require(found is None, f"{found} makes a tensor on another device; take it from a tensor that is given")
    return "on the device of the data"


@_on_every_task
def survives_its_search_spaces(examined: Examined, task: Task) -> str:
    """60 updates leave finite predictions at the corners and at random points of both search spaces."""
    method = examined.method
    points = [point for space in (method.search_space, method.wide_space) for point in _search_points(space(task))]
    fits = [Fit(TRAIN_ROWS, point, seed) for seed, point in enumerate(points)]
    stack = Stack(method, task, _data(task), fits, examined.schedule(SPACE_UPDATES), stacked=method.stackable)
    for point, predictive in zip(points, stack.predict([TEST_ROWS] * len(fits), N_SAMPLES), strict=True):
        finite = all(part.isfinite().all() for part in predictive)
        _require(finite, f"not finite after {SPACE_UPDATES} updates at {point}")
    return f"{len(points)} points, corners included"


@_on_every_task
def predictive_is_a_density(examined: Examined, task: Task) -> str:
    """Shapes agree, and every sample is a density or probabilities of the target."""
    predictive = examined.predictives(examined.together(task))[0]
    kind = Normals if task.likelihood.standardises else Classes
    _require(isinstance(predictive, kind), f"the predictive is {type(predictive).__name__}; wanted {kind.__name__}")
    if isinstance(predictive, Classes):
        return _sums_to_one(predictive, max(2, task.likelihood.n_outputs))
    return _integrates_to_one(predictive)


def _sums_to_one(predictive: Classes, n_classes: int) -> str:
    shape = tuple(predictive.log_probs.shape)
    wanted = (len(TEST_ROWS), n_classes)
    _require(shape[1:] == wanted, f"`log_probs` has shape {shape}; wanted (samples, {wanted[0]}, {wanted[1]})")
    off = predictive.log_probs.logsumexp(-1).expm1().abs().max().item()
    _require(off < 1e-6, f"the probabilities of a test point sum to 1 only within {off:.1e}")
    return f"{shape[0]} samples, probabilities sum to 1"


def _integrates_to_one(predictive: Normals) -> str:
    n_points = len(TEST_ROWS)
    for name, part in predictive._asdict().items():
        shape = tuple(part.shape)
        _require(
            len(shape) == 2 and shape[1] == n_points and shape == tuple(predictive.mean.shape),
            f"`{name}` has shape {shape}; wanted (samples, {n_points}), the same for all",
        )
    _require(bool((predictive.variance > 0).all()), "a predictive variance is not positive")
    for point in range(n_points):
        mean, sd = predictive.mean[:, point], predictive.variance[:, point].sqrt()
        # Each component on its own scale, because a network may predict variances of very different sizes.
        grid = torch.cat(
            [centre + width * torch.linspace(-12, 12, 2001) for centre, width in zip(mean, sd, strict=True)]
        )
        grid = grid.double().sort().values
        here = Normals(*(part[:, point : point + 1].expand(-1, len(grid)) for part in predictive))
        mass = torch.trapezoid(metrics.log_density(here, grid).exp(), grid).item()
        _require(abs(mass - 1) < 1e-3, f"the density at a test point integrates to {mass:.4f}, not 1")
    return f"{len(predictive.mean)} samples, densities integrate to 1"


@_on_every_task
def posterior_can_be_saved(examined: Examined, task: Task) -> str:
    """A posterior that went through `torch.save` and `torch.load` predicts the same bits."""
    stack = examined.together(task)
    before = examined.predictives(stack)
    file = io.BytesIO()
    torch.save(stack.posterior, file)
    file.seek(0)
    stack.posterior = torch.load(file, weights_only=False)
    after = examined.predictives(stack)
    same = all(
        torch.equal(*pair) for one, other in zip(before, after, strict=True) for pair in zip(one, other, strict=True)
    )
    _require(same, "a saved and loaded posterior predicts something else")
    return f"{len(file.getvalue()) / 1024 / len(SEEDS):.0f} KiB per fit"


def finds_the_conjugate_posterior(examined: Examined) -> str:
    """On a linear model with orthogonal inputs the posterior mean, and the spread if `gaussian`, are the exact ones."""
    method = examined.method
    if not method.weight_posterior:
        return "not applicable: no posterior of the weights under N(0, I / prior_precision)"
    if TASKS[0] not in examined.tasks:
        return f"not applicable: {method.excludes(TASKS[0])}"
    problem = conjugate.orthogonal(0)
    exact = problem.posterior()
    exact_sd = np.sqrt(np.diag(exact.covariance))
    lr = method.search_space(TASKS[0]).get("lr")
    stack = problem.fit(
        method,
        lr=_middle(lr) if lr else 0.01,
        updates=CONJUGATE_UPDATES,
        batch_size=len(problem.x) // 2,
        seeds=range(CONJUGATE_SEEDS),
    )
    samples = problem.weight_samples(stack, CONJUGATE_SAMPLES)
    bias = float(np.abs((samples.mean(axis=1) - exact.mean).mean(axis=0) / exact_sd).max())
    _require(
        bias < MEAN_TOLERANCE,
        f"the posterior mean of a linear model is {bias:.2f} exact standard deviations off; allowed {MEAN_TOLERANCE}",
    )
    if not method.gaussian:
        return f"mean within {bias:.2f} exact standard deviations"
    ratio = (samples.std(axis=1) / exact_sd).mean(axis=0)
    worst = float(ratio[np.argmax(np.abs(ratio - 1))])
    _require(
        abs(worst - 1) < SPREAD_TOLERANCE,
        f"a posterior standard deviation of a linear model is {worst:.2f} x the exact one; allowed within "
        f"{SPREAD_TOLERANCE:.0%}. Is the noise scaled rightly?",
    )
    return f"mean within {bias:.2f} exact standard deviations, spread {worst:.2f} x the exact one"


def cost_is_told(examined: Examined) -> str:
    """Measures, and does not judge, the time of an update alone and in a stack of 30."""
    if TASKS[0] not in examined.tasks:
        return "not measured: it needs the regression task"
    alone = speed.microseconds(examined.method, 1, "eager", stacked=False)
    stacked = speed.microseconds(examined.method, 30, "traced")
    return f"{alone:.0f} us per update alone, {stacked:.0f} us in a stack of 30 ({alone / stacked:.0f} x)"


RULES: dict[str, Callable[[Examined], str]] = {
    "declares itself": declares_itself,
    "state keeps its shape": state_keeps_its_shape,
    "stack equals alone": stack_equals_alone,
    "deterministic": is_deterministic,
    "keeps to its device": keeps_to_its_device,
    "finite over its search spaces": survives_its_search_spaces,
    "predictive is a density": predictive_is_a_density,
    "posterior can be saved": posterior_can_be_saved,
    "conjugate posterior": finds_the_conjugate_posterior,
    "cost": cost_is_told,
}


@cache
def _data(task: Task) -> Data:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((N_ROWS, N_FEATURES))
    signal = np.sin(x.sum(axis=1)) + 0.1 * generator.standard_normal(N_ROWS)
    if task.likelihood.standardises:
        return Data.of(x, signal)
    n_classes = max(2, task.likelihood.n_outputs)
    bounds = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return Data.of(x, np.digitize(signal, bounds).astype(float))


def _middle(distribution: BaseDistribution) -> float:
    """A value in the middle of a distribution's range, on its own scale."""
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return math.sqrt(low * high) if distribution.log else (low + high) / 2
    return _study().ask({"value": distribution}).params["value"]


def _search_points(space: dict[str, BaseDistribution]) -> Iterator[dict[str, float]]:
    """Corners of the numeric ranges of a search space and random points of it."""
    study = _study()
    numeric = [name for name, one in space.items() if isinstance(one, FloatDistribution)][:MAX_LOG_CORNERS]
    for ends in product(("low", "high"), repeat=len(numeric)):
        corner = {name: getattr(space[name], end) for name, end in zip(numeric, ends, strict=True)}
        yield study.ask(space).params | corner
    for _ in range(SPACE_DRAWS):
        yield study.ask(space).params


def _study() -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=RandomSampler(seed=0))


def _difference(one: torch.Tensor, other: torch.Tensor) -> float:
    return ((one - other).abs().max() / (1e-12 + other.abs().max())).item()


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise Violation(message)
