"""Hyper-parameter search: one Optuna study per cell, whose trials train together.

Trials are asked for in rounds. The trials and folds of a round, for all cells that are tuned side by side, form stacks.
The objective of a trial is the mean over the folds of its score. Only training rows are used.
"""

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import TrialState

from lockstep_bench.bench.evaluation.tuning.bayesian import proposal
from lockstep_bench.bench.evaluation.tuning.storing import storing
from lockstep_bench.shared.protocol import GP_STARTUP, TPE_STARTUP, Protocol
from lockstep_bench.shared.rows.studies import read_study, write_study
from lockstep_bench.shared.seeds import seed_of

SECONDS = "seconds of the round from trial "  # user attributes of a study
FLAW = "flaw"  # user attribute of a failed trial
ABSURD_NMLL = 1e6  # nats; a fit this bad has diverged though its numbers are still finite


class Diverged(ArithmeticError):
    """Training or prediction gave numbers that are not finite, or are absurd."""


class Score(NamedTuple):
    """Score of a fit on a part that is held out, or of a trial.

    Attributes:
        value: Score, which is minimised; NaN where there is none.
        flaw: Why there is no finite value; "" if unknown.
    """

    value: float
    flaw: str = ""


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
        journal: File of the study; None to store nothing.
        space: Distributions by hyper-parameter.
        protocol: Says how many trials there are, in which rounds, and the sampler.
        seed: Seed of the trials.

    Raises:
        bench.evaluation.tuning.storing.StudyNotStored: The file cannot be read or written, here or in `tell`.
    """

    def __init__(self, journal: Path | None, space: dict[str, BaseDistribution], protocol: Protocol, seed: int):
        self._space, self._protocol, self._seed = space, protocol, seed
        self._path = journal
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would say that a study was created
        if journal is None:
            self._study = optuna.create_study(direction="minimize")
            return
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

    def tell(self, asked: Sequence[optuna.Trial], scores: Sequence[Score], seconds: float) -> None:
        """Store a round: its trials, their scores, and their duration."""
        self._study.set_user_attr(f"{SECONDS}{asked[0].number}", seconds)
        for trial, score in zip(asked, scores, strict=True):
            if math.isfinite(score.value) and score.value < ABSURD_NMLL:
                self._study.tell(trial, score.value)
            else:
                if score.flaw:
                    trial.set_user_attr(FLAW, score.flaw)
                self._study.tell(trial, state=TrialState.FAIL)
        if self._path:
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


class Round:
    """Trials of some studies that are trained and scored together. The studies share its duration equally.

    Args:
        searches: The studies.
        numbers: Numbers among them of those that take part.
        start: The first trial of each.
        end: One past its last.
    """

    def __init__(self, searches: Sequence[Search], numbers: Sequence[int], start: int, end: int):
        self._searches, self._started = searches, time.perf_counter()
        self._asked = {number: searches[number].ask(start, end) for number in numbers}

    @property
    def trials(self) -> list[tuple[int, int, dict[str, float]]]:
        """The number of the study, the number of the trial and its hyper-parameters, for each trial."""
        return [(number, trial.number, trial.params) for number, asked in self._asked.items() for trial in asked]

    def tell(self, scores: Sequence[Score]) -> None:
        """Store the round in the studies.

        Args:
            scores: Scores of the fits of all `trials`, those of a trial adjacent and equally many for each trial.
        """
        seconds = (time.perf_counter() - self._started) / len(self._asked)
        n_fits = len(scores) // sum(map(len, self._asked.values()))
        left = iter(scores)
        for number, asked in self._asked.items():
            self._searches[number].tell(asked, [mean_score(list(islice(left, n_fits))) for _ in asked], seconds)


def rounds(searches: Sequence[Search], protocol: Protocol) -> Iterator[Round]:
    """Yield the rounds that the studies of a job still need; the scores of a round must be added before the next.

    Args:
        searches: The studies.
        protocol: Says in which rounds trials are asked for.
    """
    for start, end in protocol.rounds():
        if due := [number for number, search in enumerate(searches) if search.n_asked < end]:
            yield Round(searches, due, start, end)


def mean_score(of_folds: Sequence[Score]) -> Score:
    """Return the score of a trial, the mean over its folds, with the first reason why one has none."""
    flaws = (score.flaw for score in of_folds if score.flaw)
    return Score(float(np.mean([score.value for score in of_folds])), next(flaws, ""))


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
