"""Checks of a method's numbers: finite predictions, normalised densities, a known exact posterior; and the cost."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from optuna.distributions import BaseDistribution, FloatDistribution

from bench import metrics
from bench.conformance.examined import (
    N_SAMPLES,
    REGRESSION,
    TEST_ROWS,
    TRAIN_ROWS,
    Examined,
    data_of,
    middle,
    new_study,
    on_every_task,
    require,
)
from bench.engine.replica import Fit
from bench.engine.stacked_training import train_stacked
from bench.engine.timing import microseconds
from bench.reference import conjugate
from methods.maths.predictive import Classes, Normals
from methods.problem import Task

SPACE_DRAWS, SPACE_UPDATES = 24, 60
COST_STEPS = 6000
MAX_LOG_CORNERS = 6
CONJUGATE_DIMS = 3, 8  # the first that the method supports is used; methods with many factors need many weights
CONJUGATE_SEEDS, CONJUGATE_UPDATES, CONJUGATE_SAMPLES = 8, 6000, 2000
MEAN_TOLERANCE = 0.25  # exact posterior standard deviations, mean over the seeds
SPREAD_TOLERANCE = 0.15  # relative, mean over the seeds


@on_every_task
def survives_its_search_spaces(examined: Examined, task: Task) -> str:
    """Check for finite predictions after 60 updates, at corners and random points of both search spaces.

    The updates are eager: to capture a graph takes longer than 60 updates (2 to 3 times as long in all, 5 methods).
    """
    method = examined.method
    points = [point for space in (method.search_space, method.wide_space) for point in _search_points(space(task))]
    fits = [Fit(TRAIN_ROWS, point, seed) for seed, point in enumerate(points)]
    schedule = examined.schedule(SPACE_UPDATES)
    trained = train_stacked(method, task, data_of(task), fits, schedule, execution="eager", stacked=method.stackable)
    for point, predictive in zip(points, trained.predict([TEST_ROWS] * len(fits), N_SAMPLES), strict=True):
        finite = all(part.isfinite().all() for part in predictive)
        require(
            finite,
            f"predictions are not finite after {SPACE_UPDATES} updates at {point}; narrow the search space, or keep "
            "the update finite there",
        )
    return f"finite at {len(points)} points, corners included"


@on_every_task
def predictive_is_a_density(examined: Examined, task: Task) -> str:
    """Check the predictive's shapes, and that each test point's density or probabilities are normalised."""
    predictive = examined.predictives(examined.stacked_fits(task))[0]
    kind = Normals if task.likelihood.standardises else Classes
    require(
        isinstance(predictive, kind), f"`predict` returns {type(predictive).__name__}; it must return {kind.__name__}"
    )
    if isinstance(predictive, Classes):
        return _check_probabilities(predictive, max(2, task.likelihood.n_outputs))
    return _check_densities(predictive)


def finds_the_conjugate_posterior(examined: Examined) -> str:
    """Compare the posterior mean of a linear model, and the spread if `method.gaussian`, with the exact ones.

    The inputs are orthogonal, so the exact posterior is a factorised Gaussian.
    """
    method = examined.method
    if not method.weight_posterior:
        return "not applicable: the method has no posterior of the weights under the prior N(0, I / prior_precision)"
    if REGRESSION not in examined.tasks:
        return f"not applicable: {method.excludes(REGRESSION)}"
    problems = [conjugate.orthogonal(0, dim=dim) for dim in CONJUGATE_DIMS]
    problem = next((problem for problem in problems if not method.excludes(problem.task)), None)
    if problem is None:
        return f"not applicable: {method.excludes(problems[-1].task)}"
    exact = problem.posterior()
    exact_sd = np.sqrt(np.diag(exact.covariance))
    lr = method.search_space(REGRESSION).get("lr")
    fits = problem.fit(
        method,
        lr=middle(lr) if lr else 0.01,
        updates=CONJUGATE_UPDATES,
        batch_size=len(problem.x) // 2,
        seeds=range(CONJUGATE_SEEDS),
    )
    samples = problem.weight_samples(fits, CONJUGATE_SAMPLES)
    bias = float(np.abs((samples.mean(axis=1) - exact.mean).mean(axis=0) / exact_sd).max())
    require(
        bias < MEAN_TOLERANCE,
        f"the posterior mean of a linear model differs from the exact one by {bias:.2f} exact standard deviations; "
        f"allowed are {MEAN_TOLERANCE}. Check the weights of the likelihood and of the prior in the objective",
    )
    if not method.gaussian:
        return f"mean within {bias:.2f} exact standard deviations"
    ratio = (samples.std(axis=1) / exact_sd).mean(axis=0)
    worst = float(ratio[np.argmax(np.abs(ratio - 1))])
    require(
        abs(worst - 1) < SPREAD_TOLERANCE,
        f"a posterior standard deviation of a linear model is {worst:.2f} x the exact one; it must be within "
        f"{SPREAD_TOLERANCE:.0%}. Check how `sample` scales its noise",
    )
    return f"mean within {bias:.2f} exact standard deviations, spread {worst:.2f} x the exact one"


def measures_cost(examined: Examined) -> str:
    """Measure the time of an update, alone and in a stack of 30. No time is a failure."""
    if REGRESSION not in examined.tasks:
        return "not measured: the method excludes the regression task"
    if not examined.method.stackable:
        return "not measured: the method wraps another library"
    alone = microseconds(examined.method, 1, "eager", stacked=False)
    stacked = microseconds(examined.method, 30, "captured", model_steps=COST_STEPS)
    return f"{alone:.0f} us per update alone, {stacked:.0f} us in a stack of 30 ({alone / stacked:.0f} x)"


def _search_points(space: dict[str, BaseDistribution]) -> Iterator[dict[str, float]]:
    """Yield points with every combination of ends of numeric ranges, and random points of a search space."""
    study = new_study()
    ranges = [(name, range_) for name, range_ in space.items() if isinstance(range_, FloatDistribution)]
    numeric = dict(ranges[:MAX_LOG_CORNERS])
    for ends in product(*((range_.low, range_.high) for range_ in numeric.values())):
        yield study.ask(space).params | dict(zip(numeric, ends, strict=True))
    for _ in range(SPACE_DRAWS):
        yield study.ask(space).params


def _check_probabilities(predictive: Classes, n_classes: int) -> str:
    shape = tuple(predictive.log_probs.shape)
    wanted = (len(TEST_ROWS), n_classes)
    require(shape[1:] == wanted, f"`log_probs` has the shape {shape}; it must be (S, {wanted[0]}, {wanted[1]})")
    off = predictive.log_probs.logsumexp(-1).expm1().abs().max().item()
    require(off < 1e-6, f"the probabilities of a test point sum to 1 only within {off:.1e}; normalise `log_probs`")
    return f"{shape[0]} samples, probabilities sum to 1"


def _check_densities(predictive: Normals) -> str:
    n_points = len(TEST_ROWS)
    for name, part in predictive._asdict().items():
        shape = tuple(part.shape)
        require(
            len(shape) == 2 and shape[1] == n_points and shape == tuple(predictive.mean.shape),
            f"`{name}` has the shape {shape}; mean and variance must have one shape (S, {n_points})",
        )
    require(
        bool((predictive.variance > 0).all()),
        "a predictive variance is not positive; `predict` must return variances above 0",
    )
    for point in range(n_points):
        mean, sd = predictive.mean[:, point], predictive.variance[:, point].sqrt()
        # Each component has a grid on its scale, because a network may predict variances of very different sizes.
        grid = torch.cat(
            [centre + width * torch.linspace(-12, 12, 2001) for centre, width in zip(mean, sd, strict=True)]
        )
        grid = grid.double().sort().values
        at_point = Normals(*(part[:, point : point + 1].expand(-1, len(grid)) for part in predictive))
        mass = torch.trapezoid(metrics.log_density(at_point, grid).exp(), grid).item()
        require(abs(mass - 1) < 1e-3, f"the density at a test point integrates to {mass:.4f}; it must integrate to 1")
    return f"{len(predictive.mean)} samples, densities integrate to 1"
