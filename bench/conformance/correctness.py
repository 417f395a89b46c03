"""Checks that a method's predictions are finite and normalised, and a measurement of its cost."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import torch
from optuna.distributions import BaseDistribution, FloatDistribution

from lockstep_bench.bench import metrics
from lockstep_bench.bench.conformance.examined import (
    N_SAMPLES,
    REGRESSION,
    TEST_ROWS,
    TRAIN_ROWS,
    UPDATES,
    Examined,
    Violation,
    in_words,
    new_study,
    on_every_task,
    require,
)
from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.timing import median_microseconds
from lockstep_bench.bench.metrics.checks import REGRESSIONS
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive
from lockstep_bench.methods.problem import Task

SPACE_DRAWS, SPACE_UPDATES = 24, 60
MAX_LOG_CORNERS = 6


@on_every_task
def survives_its_search_spaces(examined: Examined, task: Task) -> str:
    """Check for finite predictions after 60 updates, at corners and random points of both search spaces.

    These are `search_space` and `wide_space`. The updates run eagerly, because capturing a graph would take longer than
    60 updates. Fits that run one by one make as few updates as in the other checks, and where nothing is tuned, the
    fits are those of the other checks.
    """
    method = examined.method
    if not {**method.search_space(task), **method.wide_space(task)}:
        of_stack = examined.predictives(examined.stacked_fits(task))
        require(all(map(_is_finite, of_stack)), f"predictions are not finite after {UPDATES} updates")
        return "finite; nothing is tuned"
    usual, wide = (list(_search_points(space(task))) for space in (method.search_space, method.wide_space))
    points, n_usual = [*usual, *wide], len(usual)
    fits = [Fit(TRAIN_ROWS, point, seed) for seed, point in enumerate(points)]
    n_updates = SPACE_UPDATES if method.stackable else UPDATES
    schedule = examined.schedule(n_updates)
    trained = train_stacked(
        method, task, examined.data_of(task), fits, schedule, execution="eager", stacked=method.stackable
    )
    predictives = trained.predict([TEST_ROWS] * len(fits), N_SAMPLES)
    finite = [_is_finite(predictive) for predictive in predictives]
    lost = [point for point, is_finite in zip(points, finite, strict=True) if not is_finite]
    kept = [point for point, is_finite in zip(points, finite, strict=True) if is_finite]
    advice = "Narrow `search_space`"
    if all(finite[:n_usual]):
        advice = "All are in `wide_space`, which the preset `tuned` searches: narrow it by `wide_ranges`"
    require(
        not lost,
        f"predictions of {len(lost)} of {len(points)} fits are not finite after {n_updates} updates, "
        f"{_where(lost, kept)}. {advice}, or keep the update finite there",
    )
    return f"finite at {len(points)} points, corners included"


def _is_finite(predictive: Predictive) -> bool:
    return all(bool(part.isfinite().all()) for part in predictive)


@on_every_task
def predictive_is_a_density(examined: Examined, task: Task) -> str:
    """Check the shapes of each fit's predictive, and that its densities or class probabilities are normalised."""
    details = [_check_predictive(each, task) for each in examined.predictives(examined.stacked_fits(task))]
    return details[0]


def _check_predictive(predictive: Predictive, task: Task) -> str:
    allowed = REGRESSIONS if task.likelihood.standardises else (Classes,)
    wanted = " or ".join(kind.__name__ for kind in allowed)
    require(
        isinstance(predictive, allowed),
        f"`predict` returns {type(predictive).__name__}; it must return {wanted}, or `likelihoods` must leave out "
        f"{task.likelihood.kind!r}",
    )
    if isinstance(predictive, Classes):
        return _check_probabilities(predictive, max(2, task.likelihood.n_outputs))
    if isinstance(predictive, Normals):
        return _check_densities(predictive)
    try:
        distribution_of(predictive)
    except ValueError as error:
        raise Violation(f"{error}") from None
    return f"{type(predictive).__name__}, normalised by its definition"


def measures_cost(examined: Examined) -> str:
    """Measure the time of an update of one fit, alone and among 30 fits side by side. This check never fails."""
    if REGRESSION not in examined.tasks:
        return "not measured: the method excludes the regression task"
    if not examined.method.stackable:
        return "not measured: the method declares `stackable = False`"
    alone = median_microseconds(examined.method, 1, "eager", examined.device)
    stacked = median_microseconds(examined.method, 30, "captured", examined.device)
    return f"{alone:.0f} us per update alone, {stacked:.0f} us in a stack of 30 ({alone / stacked:.0f} x)"


def _search_points(space: dict[str, BaseDistribution]) -> Iterator[dict[str, float]]:
    """Yield points with every combination of ends of the first continuous ranges, and random points of a space."""
    study = new_study()
    ranges = [(name, range_) for name, range_ in space.items() if isinstance(range_, FloatDistribution)]
    numeric = dict(ranges[:MAX_LOG_CORNERS])
    for ends in product(*((range_.low, range_.high) for range_ in numeric.values())):
        yield study.ask(space).params | dict(zip(numeric, ends, strict=True))
    for _ in range(SPACE_DRAWS):
        yield study.ask(space).params


def _where(lost: Sequence[Mapping[str, float]], kept: Sequence[Mapping[str, float]]) -> str:
    """Return a text on which search points gave non-finite fits: the range of one hyper-parameter, or an example."""
    for name in lost[0] if lost and kept else ():
        values, others = [point[name] for point in lost], [point[name] for point in kept]
        if min(values) > max(others):
            return f"all with {name} of {min(values):.3g} or more"
        if max(values) < min(others):
            return f"all with {name} of {max(values):.3g} or less"
    return f"as at {in_words(lost[0]) or 'the only point'}" if lost else ""


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
