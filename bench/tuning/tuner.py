"""Hyper-parameter search: one Optuna study per cell, whose trials train together.

Trials are asked for in rounds. The trials and folds of a round, for all cells that are tuned side by side, form stacks.
The objective of a trial is the mean over the folds of its score. Only training rows are used.
"""

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import TrialState

from lockstep_bench.bench.engine.seeds import seed_of
from lockstep_bench.bench.experiment.protocol import GP_STARTUP, TPE_STARTUP, Protocol
from lockstep_bench.bench.results.studies import read_study, write_study
from lockstep_bench.bench.tuning.bayesian import proposal
from lockstep_bench.bench.tuning.storing import storing

SECONDS = "seconds of the round from trial "  # user attributes of a study
FLAW = "flaw"  # user attribute of a failed trial
ABSURD_NMLL = 1e6  # nats; a fit this bad has diverged though its numbers are still finite

Trials = list[tuple[int, dict[str, float]]]  # (trial number, hyper-parameters) of a round
# Searches of a round with their trials -> per search, the mean score of each trial
Objective = Callable[[list[tuple["Search", Trials]]], list[list[float]]]


class Diverged(ArithmeticError):
    """Training or prediction gave numbers that are not finite, or are absurd."""


@dataclass(frozen=True)
class Tuned:
    """The result of a study.

    Attributes:
        hparams: Hyper-parameters of the best trial.
        score: Score of the best trial; None where nothing was tried.
        n_trials: Trials in all.
        n_failed: Trials without a usable score.
        seconds: Wall-clock time of all rounds, including those before an interruption; None where nothing was tried.
    """

    hparams: dict[str, float]
    score: float | None
    n_trials: int
    n_failed: int
    seconds: float | None = field(compare=False)


class Search:
    """The study of one cell, which resumes from its file after an interruption.

    A trial's hyper-parameters depend on `seed`, its number and, unless search is random, the earlier rounds. An
    interrupted study therefore goes on from its last complete round, and ends as it would have without the
    interruption. A trial fails if its score is not finite, or absurd.

    Args:
        journal: File of the study.
        space: Distributions by hyper-parameter.
        protocol: Says how many trials there are, in which rounds, and the sampler.
        seed: Fixes the trials.

    Raises:
        bench.tuning.storing.StudyNotStored: The file cannot be read or written, here or in `tell`.
    """

    def __init__(self, journal: Path, space: dict[str, BaseDistribution], protocol: Protocol, seed: int):
        self._space, self._protocol, self._seed = space, protocol, seed
        self._path = journal
        self._flaws: dict[int, str] = {}
        with storing(journal):
            self._study = _opened(journal, space, protocol)

    @property
    def n_asked(self) -> int:
        """Number of trials so far."""
        return len(self._study.get_trials(deepcopy=False))

    def ask(self, start: int, end: int) -> list[optuna.Trial]:
        """Return the trials of a round, from number `start` to before `end`."""
        asked = []
        for number in range(start, end):
            seed = seed_of(self._seed, "trial", number) % 2**32  # the range of Optuna's random state
            if self._protocol.sampler == "grid":
                self._study.enqueue_trial(_combination(self._space, number))
            elif self._protocol.sampler == "gp" and number >= GP_STARTUP:
                self._study.enqueue_trial(proposal(self._study, self._space, GP_STARTUP, seed))
            self._study.sampler = _sampler(self._protocol.sampler, seed)
            asked.append(self._study.ask(self._space))
        return asked

    def explain(self, trial: int, flaw: str) -> None:
        """Note why a trial has no score, before `tell` stores it; "" for nothing."""
        self._flaws[trial] = flaw

    def tell(self, asked: Sequence[optuna.Trial], scores: Sequence[float], seconds: float) -> None:
        """Store a round: its trials, their scores, and their duration."""
        self._study.set_user_attr(f"{SECONDS}{asked[0].number}", seconds)
        for trial, score in zip(asked, scores, strict=True):
            if math.isfinite(score) and score < ABSURD_NMLL:
                self._study.tell(trial, score)
            else:
                if flaw := self._flaws.get(trial.number):
                    trial.set_user_attr(FLAW, flaw)
                self._study.tell(trial, state=TrialState.FAIL)
        with storing(self._path):
            write_study(self._study, self._path)

    def best(self) -> Tuned:
        """Return the best trial of the finished study.

        Raises:
            Diverged: All trials failed.
        """
        trials = self._study.get_trials(deepcopy=False)
        failed = sum(trial.state == TrialState.FAIL for trial in trials)
        if failed == len(trials):
            known = [(trial.number, trial.user_attrs[FLAW]) for trial in trials if FLAW in trial.user_attrs]
            example = f"; in trial {known[0][0]} {known[0][1]}" if known else ""
            raise Diverged(f"all {failed} trials diverged: no validation NMLL was below {ABSURD_NMLL:g}{example}")
        seconds = sum(value for name, value in self._study.user_attrs.items() if name.startswith(SECONDS))
        return Tuned(self._study.best_params, self._study.best_value, len(trials), failed, seconds)


class Centred:
    """Replaces a search by the middle of every range, on the range's scale, and the first of categorical choices."""

    def __init__(self, space: dict[str, BaseDistribution]):
        self._space = space

    def best(self) -> Tuned:
        """Return the middle of the space as a result without trials and without a score."""
        return Tuned({name: _middle(distribution) for name, distribution in self._space.items()}, None, 0, 0, None)


def tune(searches: Sequence[Search], protocol: Protocol, objective: Objective) -> None:
    """Run studies side by side to their end. The searches of a round share its duration equally.

    Args:
        searches: The studies.
        protocol: Says in which rounds trials are asked for.
        objective: Scores the trials of a round.
    """
    for start, end in protocol.rounds():
        due = [search for search in searches if search.n_asked < end]
        if not due:
            continue
        started, asked = time.perf_counter(), [search.ask(start, end) for search in due]
        trials = [[(trial.number, trial.params) for trial in of_search] for of_search in asked]
        scores = objective(list(zip(due, trials, strict=True)))
        seconds = (time.perf_counter() - started) / len(due)
        for search, of_search, search_scores in zip(due, asked, scores, strict=True):
            search.tell(of_search, search_scores, seconds)


def n_combinations(space: Mapping[str, BaseDistribution]) -> int | None:
    """Return the number of points of a space of choices, or None if it has a range of numbers."""
    searched = [distribution for distribution in space.values() if not distribution.single()]
    choices = [_choices(distribution) for distribution in searched]
    return math.prod(map(len, choices)) if all(choices) else None


def _combination(space: Mapping[str, BaseDistribution], number: int) -> dict[str, Any]:
    """Return combination `number` of the choices of a space, starting again after the last; ranges are left out."""
    choices = {name: _choices(distribution) for name, distribution in space.items() if _choices(distribution)}
    combinations = list(itertools.product(*choices.values()))
    return dict(zip(choices, combinations[number % len(combinations)], strict=True))


def _choices(distribution: BaseDistribution) -> Sequence[Any]:
    """Return the choices of a distribution, or none for a range of numbers."""
    return distribution.choices if isinstance(distribution, CategoricalDistribution) else ()


def mean_over_folds(scores: np.ndarray, n_folds: int) -> list[float]:
    """Return the objective of each trial from the scores of all trials' folds, (trials * folds,)."""
    return scores.reshape(-1, n_folds).mean(axis=1).tolist()


def _middle(distribution: BaseDistribution) -> float:
    if isinstance(distribution, CategoricalDistribution):
        return cast(float, distribution.choices[0])  # all hyper-parameters are numbers
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise TypeError(f"a {type(distribution).__name__} has no range; it must be a float, int or categorical one")
    if distribution.log:
        return math.sqrt(distribution.low * distribution.high)
    return (distribution.low + distribution.high) / 2


def _sampler(name: str, seed: int) -> BaseSampler:
    if name == "tpe":
        return TPESampler(seed=seed, n_startup_trials=TPE_STARTUP, constant_liar=True)
    return RandomSampler(seed=seed)


def _opened(path: Path, space: Mapping[str, BaseDistribution], protocol: Protocol) -> optuna.Study:
    """Return the study in a file; a new one if there is none of complete rounds over this space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError, ValueError):
        study = read_study(path)
        trials = study.get_trials(deepcopy=False)
        of_space = all(trial.distributions == space for trial in trials)
        if of_space and len(trials) in {end for _, end in protocol.rounds()}:
            return study
    return optuna.create_study(direction="minimize")
