"""Tuning and training on arrays in memory, with the same code and the same numbers as in a run of the benchmark."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from lockstep_bench import methods
from lockstep_bench.bench.arrays.data import SUITE, Arrays
from lockstep_bench.bench.arrays.posterior import Posterior, single_threaded
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.prediction import PredictionRows, prepared_fits
from lockstep_bench.bench.evaluation.search import tune as search_for
from lockstep_bench.bench.evaluation.tuned import reported_of
from lockstep_bench.bench.evaluation.tuning.tuner import Tuned
from lockstep_bench.bench.experiment import hparam_checks, plan
from lockstep_bench.bench.experiment.cells import SeededSplit
from lockstep_bench.bench.experiment.parsing import parse_devices
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.experiment.request import Request, known
from lockstep_bench.bench.experiment.tasks import ranges_of
from lockstep_bench.bench.metrics import checks
from lockstep_bench.shared import given_hparams
from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.protocol import SETTINGS, Protocol

# A value fixes a hyper-parameter, and a pair (lowest, highest) is the range to search instead of the method's own.
Given = Mapping[str, float | Sequence[float]]


def protocol_of(
    preset: str = "quick", settings: Mapping[str, int | str | None] | None = None, hparams: Given | None = None
) -> Protocol:
    """Return the protocol (budget and settings of tuning and training) of a preset, with changes.

    Args:
        preset: "quick", "tuned" or "paper", the presets of the suite `uci`.
        settings: Changed fields of `shared.protocol.Protocol`, as in {"epochs": 500}.
        hparams: Hyper-parameters that are given instead of tuned, as {"lr": 0.01}, or whose range is given, as
            {"lr": (0.001, 0.1)}.

    Raises:
        bench.experiment.request.InvalidRequest: A name is unknown or a value is not allowed. It is a ValueError.
    """
    for name in settings or {}:
        known("setting", name, tuple(SETTINGS))
    changes = {name: _of_python(value) for name, value in (settings or {}).items()}
    if hparams:
        changes["hparams"] = GivenHParams.of(
            given_hparams.parse(f"{name}={_text(each)}") for name, each in hparams.items()
        )
    request = Request(SUITE, preset, None, None, None, changes, seed=0)
    return plan.protocol_of(request)[1]


def tune(
    data: Arrays,
    method: str,
    protocol: Protocol,
    *,
    seed: int = 0,
    device: str = "cpu",
    on_progress: OnProgress = lambda progress: None,
) -> Tuned:
    """Return the best hyper-parameters of a method by cross-validation on the training rows.

    All fits train side by side, in one thread.

    Args:
        data: The training data.
        method: Name in the registry, with options if any: "vifa", "mfvi(tempering=0.1)", "ensemble:map".
        protocol: Trials, folds and training budget (`protocol_of`). If it fixes every hyper-parameter, nothing is
            trained, and the result has no score.
        seed: Seed of folds, trials and fits.
        device: Torch's name of the device.
        on_progress: Called with the progress about once a second.

    Returns:
        `hparams`, name -> value, with noise precisions in original target units; `score`, the negative mean log
            predictive density on the validation rows, averaged over the folds, in nats; `n_trials`, `n_failed` and
            `seconds`.

    Raises:
        ValueError: The method is unknown, does not suit the data, or lacks a given hyper-parameter; or there are fewer
            training rows than folds.
        bench.evaluation.tuning.tuner.Diverged: All trials diverged.
    """
    assignment = _assignment(data, method, protocol, seed, device)
    with single_threaded():
        progress = ProgressReporter(1, on_progress)
        work = prepared_fits(assignment, PredictionRows(assignment), progress)
        search = work.search()
        progress.n_stacks = work.n_stacks(search)
        return search_for(work.trainer, work.splits, search, [None], work.scorer.trials)[0].best()


def fit(
    data: Arrays,
    method: str,
    protocol: Protocol,
    hparams: Mapping[str, float],
    *,
    seed: int = 0,
    device: str = "cpu",
    on_progress: OnProgress = lambda progress: None,
) -> Posterior:
    """Train a method on all training rows and return its posterior.

    Args:
        data: The training data.
        method: Name in the registry.
        protocol: Training budget; its settings of tuning have no effect.
        hparams: A value for each hyper-parameter of the method, as `tune` returns them.
        seed: Seed of initial weights, minibatches, noise, and the weight samples of predictions.
        device: Torch's name of the device.
        on_progress: Called with the progress about once a second.

    Raises:
        ValueError: The method is unknown or does not suit the data, or a hyper-parameter is missing or unknown.
    """
    assignment = _assignment(data, method, protocol, seed, device)
    wanted = assignment.space(0)
    if hparams.keys() != wanted.keys():
        expected, got = (", ".join(sorted(names)) or "none" for names in (wanted, hparams))
        raise ValueError(f"hparams should be those of {assignment.method.name} ({expected}), got {got}")
    hparams = {name: float(checks.reals(value, f"hparams[{name!r}]", "()")) for name, value in hparams.items()}
    with single_threaded():
        work = prepared_fits(assignment, PredictionRows(assignment), ProgressReporter(1, on_progress))
        (split,) = work.splits
        started = time.perf_counter()
        # Besides the one, the updates that show convergence are recorded; each takes as long as ten others.
        fits = work.trainer.train(assignment.method, split, [split.final(hparams)], split.largest.final, n_recorded=1)
        seconds = time.perf_counter() - started
        (reported,) = reported_of(fits, fits.diagnostics())
        return Posterior.of(fits, data.source, data.suite, protocol, seconds, reported, data.offset)


def _assignment(data: Arrays, method: str, protocol: Protocol, seed: int, device: str) -> Assignment:
    """Return the method and the split to learn, checked."""
    _require(data, Arrays, "data", "regression, classification or registered")
    _require(protocol, Protocol, "protocol", "protocol_of")
    if problem := methods.problem_with(method):
        raise ValueError(problem)
    place = torch.device(parse_devices(str(device))[0])
    name, seed = methods.get(method).name, checks.integer(seed, "seed", 0)
    seeded = SeededSplit.of(seed, data.suite, data.source.name, name, data.split)
    assignment = Assignment(data.source, data.dataset, data.suite, name, protocol, (seeded,), place)
    _check(assignment)
    return assignment


def _check(assignment: Assignment) -> None:
    """Raise ValueError if the method or the given hyper-parameters do not suit the data."""
    method, task, protocol = assignment.method, assignment.tasks[0], assignment.protocol
    if reason := method.excludes(task):
        raise ValueError(f"method {method.name!r} cannot be used on these data: {reason}")
    space = {method.name: ranges_of(method, task, protocol)}
    for each in protocol.hparams.every if protocol.hparams else ():
        if problem := hparam_checks.complaint(each, space):
            raise ValueError(f"hparams {each}: {problem}")


def _require(value: Any, kind: type, name: str, made_by: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be what bench.arrays.{made_by} returns, got a {type(value).__name__}")


def _of_python(value: Any) -> Any:
    """Return a number of NumPy or torch as a Python number."""
    return value.item() if hasattr(value, "item") else value


def _text(value: Any) -> str:
    """Return a value or a range of a hyper-parameter as `given_hparams.parse` reads it."""
    return "..".join(map(repr, np.atleast_1d(np.asarray(value, dtype=np.float64)).tolist()))
