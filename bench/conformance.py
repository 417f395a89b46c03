"""Does an adapter keep the method contract? What `python -m methods check NAME` runs.

Each check is a function of a method that returns what it found, in words, or raises `Violation`. They run on small
tasks, in seconds.
"""

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import optuna
import torch
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import RandomSampler

from bench import conjugate, metrics, speed
from bench.minibatches import Schedule
from bench.row import Data, Fit
from bench.stack import Stack
from methods.base import Method, Paper
from methods.likelihoods import Gaussian
from methods.networks import MLP
from methods.predictive import Normals, Predictive
from methods.problem import Task

N_ROWS, N_FEATURES, HIDDEN = 40, 3, (8,)
TEST_ROWS = np.arange(30, 40)
N_SAMPLES = 7
UPDATES = 24
TOLERANCE = 1e-8  # relative, in float64, between a fit in a stack and the same fit alone
SPACE_DRAWS = 24
CONJUGATE_SEEDS, CONJUGATE_UPDATES, CONJUGATE_SAMPLES = 8, 6000, 2000
MEAN_TOLERANCE = 0.25  # exact posterior standard deviations, mean over the seeds
SPREAD_TOLERANCE = 0.15  # relative, mean over the seeds
MAX_LOG_CORNERS = 6


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


def check(method: Method) -> Iterator[Finding]:
    """Run all checks on a method, yielding each outcome as it is known; an exception inside is a failed check."""
    for title, rule in RULES.items():
        try:
            yield Finding(title, True, rule(method))
        except Violation as violation:
            yield Finding(title, False, str(violation))
        except Exception as error:
            yield Finding(title, False, f"{type(error).__name__}: {error}")


def declares_itself(method: Method) -> str:
    """Name, title, paper and search space are there and of the right kind."""
    for attribute in ("name", "title"):
        value = getattr(method, attribute, None)
        _require(isinstance(value, str) and value, f"`{attribute}` is {value!r}; it must be a non-empty string")
    _require(isinstance(getattr(method, "paper", None), Paper), "`paper` is missing; it must be a methods.base.Paper")
    for attribute in ("batches_per_update", "members"):
        value = getattr(method, attribute)
        _require(isinstance(value, int) and value >= 1, f"`{attribute}` is {value!r}; it must be an integer from 1 up")
    space = method.search_space(_task())
    wrong = [name for name, one in space.items() if not isinstance(one, BaseDistribution)]
    _require(not wrong, f"search_space gives no Optuna distribution for {', '.join(wrong)}")
    return f"tunes {', '.join(space)}"


def state_keeps_its_shape(method: Method) -> str:
    """`update` returns a state like the one it got; `Stack` refuses anything else."""
    stack = _stack(method, seeds=(1, 2))  # raises when a state changes its structure
    return f"{stack.n_parameters} numbers in the posterior of {stack.n_weights} weights"


def stack_equals_alone(method: Method) -> str:
    """Three fits in a stack give what each gives alone, without vmap, from the same seed; float64."""
    if not method.stackable:
        return "declares that it does not stack"
    seeds = (11, 12, 13)
    together = _predictives(_stack(method, seeds))
    worst = 0.0
    for number, seed in enumerate(seeds):
        (alone,) = _predictives(_stack(method, (seed,), positions=(number,), stacked=False))
        worst = max(worst, *(_difference(ours, its) for ours, its in zip(together[number], alone, strict=True)))
    _require(
        worst < TOLERANCE,
        f"a fit in a stack of {len(seeds)} differs from the same fit alone by {worst:.1e} (relative); allowed "
        f"{TOLERANCE:.0e}. Does an operation mix the rows, or randomness come from elsewhere than `noise`?",
    )
    return f"largest relative difference {worst:.1e}"


def is_deterministic(method: Method) -> str:
    """The same seed gives the same bits whatever the global generators hold; another seed gives others."""
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 (it is the legacy global state that must not matter)
    first = _predictives(_stack(method, (5,)))[0]
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    before = torch.get_rng_state()
    second = _predictives(_stack(method, (5,)))[0]
    _require(torch.equal(before, torch.get_rng_state()), "it draws from torch's global generator; draw from `noise`")
    equal = all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    _require(equal, "the same seed gave two results; all randomness must come from `noise`")
    other = _predictives(_stack(method, (6,)))[0]
    _require(not torch.equal(first.mean, other.mean), "two seeds gave the same result; `noise` seems unused")
    return "the same seed gives the same bits, another seed others"


def survives_its_search_space(method: Method) -> str:
    """60 updates leave finite predictions at the corners and at random points of the search space."""
    points = list(_search_points(method))
    data, task = _data(), _task()
    fits = [Fit(np.arange(30), point, seed) for seed, point in enumerate(points)]
    stack = Stack(method, task, data, fits, _schedule(method, 60), stacked=method.stackable)
    for point, predictive in zip(points, stack.predict([TEST_ROWS] * len(fits), N_SAMPLES), strict=True):
        finite = all(part.isfinite().all() for part in predictive)
        _require(finite, f"not finite after 60 updates at {point}")
    return f"finite at {len(points)} points, corners included"


def predictive_is_a_density(method: Method) -> str:
    """Shapes agree, variances are positive, and the density at each test point integrates to one."""
    (predictive,) = _predictives(_stack(method, (3,)))
    n_points = len(TEST_ROWS)
    for name, part in predictive._asdict().items():
        shape = tuple(part.shape)
        _require(
            len(shape) == 2 and shape[1] == n_points and shape == tuple(predictive.mean.shape),
            f"`{name}` has shape {shape}; wanted (samples, {n_points}), the same for all",
        )
    _require(bool((predictive.variance > 0).all()), "a predictive variance is not positive")
    sd = predictive.variance.sqrt().max()
    grid = torch.linspace(float(predictive.mean.min() - 12 * sd), float(predictive.mean.max() + 12 * sd), 20001)
    grid = grid.double()
    for point in range(n_points):
        here = Normals(*(part[:, point : point + 1].expand(-1, len(grid)) for part in predictive))
        mass = torch.trapezoid(metrics.log_density(here, grid).exp(), grid).item()
        _require(abs(mass - 1) < 1e-3, f"the density at a test point integrates to {mass:.4f}, not 1")
    return f"{len(predictive.mean)} samples, each density integrates to 1"


def posterior_can_be_saved(method: Method) -> str:
    """A posterior that went through `torch.save` and `torch.load` predicts the same bits."""
    stack = _stack(method, (4,))
    before = _predictives(stack)[0]
    file = io.BytesIO()
    torch.save(stack.posterior, file)
    file.seek(0)
    stack.posterior = torch.load(file, weights_only=False)
    after = _predictives(stack)[0]
    _require(all(map(torch.equal, before, after)), "a saved and loaded posterior predicts something else")
    return f"{len(file.getvalue()) / 1024:.0f} KiB on disk"


def finds_the_conjugate_posterior(method: Method) -> str:
    """On a linear model with orthogonal inputs the posterior mean, and the spread if `gaussian`, are the exact ones."""
    problem = conjugate.orthogonal(0)
    exact = problem.posterior()
    exact_sd = np.sqrt(np.diag(exact.covariance))
    lr = method.search_space(_task()).get("lr")
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


def cost_is_told(method: Method) -> str:
    """Measures, and does not judge, the time of an update alone and in a stack of 30."""
    alone = speed.microseconds(method, 1, "eager", stacked=False)
    stacked = speed.microseconds(method, 30, "traced")
    return f"{alone:.0f} us per update alone, {stacked:.0f} us in a stack of 30 ({alone / stacked:.0f} x)"


RULES: dict[str, Callable[[Method], str]] = {
    "declares itself": declares_itself,
    "state keeps its shape": state_keeps_its_shape,
    "stack equals alone": stack_equals_alone,
    "deterministic": is_deterministic,
    "finite over its search space": survives_its_search_space,
    "predictive is a density": predictive_is_a_density,
    "posterior can be saved": posterior_can_be_saved,
    "conjugate posterior": finds_the_conjugate_posterior,
    "cost": cost_is_told,
}


def _task() -> Task:
    return Task("tiny", Gaussian((0.1, 10.0)), MLP(N_FEATURES, HIDDEN))


def _data() -> Data:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((N_ROWS, N_FEATURES))
    return Data.of(x, np.sin(x.sum(axis=1)) + 0.1 * generator.standard_normal(N_ROWS))


def _schedule(method: Method, updates: int) -> Schedule:
    minibatches = updates * method.batches_per_update
    return Schedule(30, 5, minibatches, method.batches_per_update, minibatches)


def _stack(method: Method, seeds: tuple[int, ...], positions: tuple[int, ...] | None = None, **options) -> Stack:
    """Fits on the tiny task in float64; rows and hyper-parameters of each depend on its position."""
    space = method.search_space(_task())
    fits = [
        Fit(np.roll(np.arange(30), position)[position:], {name: _middle(one) for name, one in space.items()}, seed)
        for position, seed in zip(positions or range(len(seeds)), seeds, strict=True)
    ]
    options = {"stacked": method.stackable, "dtype": torch.float64} | options
    return Stack(method, _task(), _data(), fits, _schedule(method, UPDATES), **options)


def _predictives(stack: Stack) -> list[Predictive]:
    return list(stack.predict([TEST_ROWS] * len(stack.fits), N_SAMPLES))


def _middle(distribution: BaseDistribution) -> float:
    """A value in the middle of a distribution's range, on its own scale."""
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return math.sqrt(low * high) if distribution.log else (low + high) / 2
    return _study().ask({"value": distribution}).params["value"]


def _search_points(method: Method) -> Iterator[dict[str, float]]:
    """Corners of the numeric ranges and random points of the search space."""
    space = method.search_space(_task())
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
