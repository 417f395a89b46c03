"""Checks of a method's form: attributes, constant shapes of the state, devices, and a posterior that can be saved."""

import io
from dataclasses import replace
from itertools import starmap

import torch
from optuna.distributions import BaseDistribution

from lockstep_bench import methods
from lockstep_bench.bench.conformance.examined import (
    HIDDEN,
    N_FEATURES,
    N_SAMPLES,
    SEEDS,
    TRAIN_ROWS,
    UPDATES,
    Examined,
    Violation,
    middle_of,
    on_every_task,
    require,
    same_bits,
)
from lockstep_bench.bench.conformance.placement import first_double, first_misplaced
from lockstep_bench.methods.base import COVARIANCES, FullBatchMethod, Paper
from lockstep_bench.methods.catalogue.registry import BUILT_IN
from lockstep_bench.methods.maths.likelihoods import KINDS
from lockstep_bench.methods.problem import Task


def declares_itself(examined: Examined) -> str:
    """Check the method's attributes and search spaces, and, for a method of this project, its description."""
    method = examined.method
    for attribute in ("name", "title"):
        value = getattr(method, attribute, None)
        require(isinstance(value, str) and value != "", f"`{attribute}` is {value!r}; it must be a non-empty string")
    require(isinstance(getattr(method, "paper", None), Paper), "`paper` is missing; it must be a methods.base.Paper")
    require(
        method.covariance in COVARIANCES,
        f"`covariance` is {method.covariance!r}; it must be one of {', '.join(map(repr, COVARIANCES))}",
    )
    for attribute in ("batches_per_update", "members"):
        value = getattr(method, attribute)
        require(
            isinstance(value, int) and value >= 1, f"`{attribute}` is {value!r}; it must be an integer of at least 1"
        )
    unknown = [kind for kind in method.likelihoods if kind not in KINDS]
    require(not unknown, f"`likelihoods` has {', '.join(map(repr, unknown))}; allowed are {', '.join(KINDS)}")
    reasons = ", ".join(f"{task.name} ({method.excludes(task)})" for task in examined.candidates)
    require(
        bool(examined.tasks),
        f"nothing can be checked, because the method excludes every task of the check: {reasons}. They have "
        f"{len(TRAIN_ROWS)} training rows, {N_FEATURES} features and {HIDDEN[0]} hidden units; support at least one",
    )
    for task in examined.tasks:
        for space in (method.search_space, method.wide_space):
            ranges: dict[str, object] = dict(space(task))
            wrong = [name for name, value in ranges.items() if not isinstance(value, BaseDistribution)]
            require(
                not wrong,
                f"`{space.__name__}` must give an Optuna distribution for each hyper-parameter; it gives another type "
                f"for {', '.join(wrong)}",
            )
    _has_a_card(method.name)
    tuned = ", ".join(method.search_space(examined.tasks[0])) or "nothing"
    return f"tunes {tuned}; for {', '.join(t.name for t in examined.tasks)}"


def _has_a_card(name: str) -> None:
    """Check that a method of this project is described in `methods/catalogue/cards.toml`; other packages need not."""
    if name in BUILT_IN:
        card = methods.card(name)
        missing = [part for part in ("family", "idea", "objective", "paper") if not getattr(card, part)]
        require(
            not missing,
            f"the method's card has no {', '.join(missing)}; add it to its module's table in "
            "methods/catalogue/cards.toml",
        )


@on_every_task
def state_keeps_its_shape(examined: Examined, task: Task) -> str:
    """Check that `update` keeps the state's structure, shapes and types; training in double precision fails otherwise.

    In single precision, as in a run, no tensor may have double precision. A method with `sweep` may have such tensors,
    because sums over all training rows need the precision.
    """
    fits = examined.stacked_fits(task)
    if isinstance(examined.method, FullBatchMethod):
        return "the method has no training loop: it gets all training rows in one call of `fit`"
    if examined.method.stackable and not examined.method.sweeps:
        hparams = middle_of(examined.method.search_space(task))
        double = first_double(examined.method, task, examined.data_of(task), hparams, examined.schedule(UPDATES))
        require(
            double is None,
            f"{double} is of double precision (float64) in a fit of single precision; make tensors from those that the "
            "method gets, as by `torch.zeros_like(weights)` or `weights.new_zeros(3)`",
        )
    return f"the posterior has {fits.n_parameters} numbers for {fits.n_weights} weights"


@on_every_task
def keeps_to_its_device(examined: Examined, task: Task) -> str:
    """Check that a method creates all tensors on the device of the data. No GPU is needed."""
    method = examined.method
    if not method.stackable:
        return "not checked: the method declares `stackable = False`"
    hparams = middle_of(method.search_space(task))
    step = first_misplaced(method, task, examined.data_of(task), hparams, examined.schedule(UPDATES), N_SAMPLES)
    require(
        step is None,
        f"`{step}` returns a tensor on another device than the data; create tensors from those that it is given, for "
        "example by `torch.zeros_like(weights)` or `weights.new_zeros(3)`",
    )
    return "all tensors are on the device of the data"


@on_every_task
def posterior_can_be_saved(examined: Examined, task: Task) -> str:
    """Check that a posterior gives bitwise equal predictions after `torch.save` and `torch.load`."""
    fits = examined.stacked_fits(task)
    before = examined.predictives(fits)
    file = io.BytesIO()
    try:
        torch.save(fits.posterior, file)
    except Exception as error:  # pickle raises many types
        raise Violation(
            f"`torch.save` cannot store the posterior: {error}. Keep arrays, tensors and objects of classes at the top "
            "of a module, and no functions that are defined inside of others"
        ) from None
    file.seek(0)
    after = examined.predictives(replace(fits, posterior=torch.load(file, weights_only=False)))
    require(
        all(starmap(same_bits, zip(before, after, strict=True))),
        "a posterior predicts other numbers after `torch.save` and `torch.load`; keep all that `predict` needs in the "
        "posterior's tensors",
    )
    return f"{len(file.getvalue()) / 1024 / len(SEEDS):.0f} KiB per fit"
