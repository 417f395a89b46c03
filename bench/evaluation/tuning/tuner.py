"""Hyper-parameter search: one Optuna study for each method and split (cell), whose trials are trained together.

Trials are drawn in rounds. All fits of a round are trained together: its trials, on all folds, of all cells that are
tuned side by side. The objective of a trial is its mean score over the folds. Only training rows are used.
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
    """Training or prediction gave numbers that are not finite, or absurdly large."""


class Score(NamedTuple):
    """Score of a fit on held-out rows, or of a trial.

    Attributes:
        value: The score, which is minimised; NaN if there is none.
        flaw: Reason why there is no finite value; "" if unknown.
    """

    value: float
    flaw: str = ""


@dataclass(frozen=True)
class Tuned:
    """The result of a hyper-parameter search.

    Attributes:
        hparams: Hyper-parameters of the best trial.
        score: Score of the best trial; None if there were no trials.
        n_trials: Number of trials.
        n_failed: Number of trials without a usable score.
        seconds: Wall-clock time of all rounds, including those before an interruption; None if there were no trials.
    """

    hparams: dict[str, float]
    score: float | None
    n_trials: int
    n_failed: int
    seconds: float | None = field(compare=False)


class Search:
    """The hyper-parameter search of one cell, which resumes from its file after an interruption.

    A trial's hyper-parameters depend on `seed`, its number and, unless search is random, the scores of earlier rounds.
    An interrupted search therefore continues after its last complete round, and has the same result as without the
    interruption. A trial fails if its score is not finite, or absurdly large.

    Args:
        journal: File of the study; None to store nothing.
        space: Distributions by hyper-parameter.
        protocol: Gives the number of trials, their rounds, and the sampler.
        seed: Seed of the trials.

    Raises:
        bench.evaluation.tuning.storing.StudyNotStored: The file cannot be read or written, now or in `tell`.
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
        """Number of trials drawn so far."""
        return len(self._study.get_trials(deepcopy=False))

    def ask(self, start: int, end: int) -> list[optuna.Trial]:
        """Draw the trials of a round, number `start` to `end` - 1, and return them."""
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
        """Store a finished round: its trials, their scores, and its duration in seconds."""
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
    """Replacement of a search: takes the middle of every range, on the range's scale, and the first of choices."""

    def __init__(self, space: dict[str, BaseDistribution]):
        self._space = space

    def best(self) -> Tuned:
        """Return the middle of each range as the chosen hyper-parameters; the result has no trials and no score."""
        return Tuned({name: _middle(distribution) for name, distribution in self._space.items()}, None, 0, 0, None)


class Round:
    """A round: trials of some studies that are trained and scored together.

    Each study is charged an equal share of the round's wall-clock time.

    Args:
        searches: All studies.
        numbers: Indices in `searches` of the studies that take part.
        start: Number of the first trial, in each of these studies.
        end: Number after the last trial.
    """

    def __init__(self, searches: Sequence[Search], numbers: Sequence[int], start: int, end: int):
        self._searches, self._started = searches, time.perf_counter()
        self._asked = {number: searches[number].ask(start, end) for number in numbers}

    @property
    def trials(self) -> list[tuple[int, int, dict[str, float]]]:
        """For each trial, the number of its study, its own number, and its hyper-parameters."""
        return [(number, trial.number, trial.params) for number, asked in self._asked.items() for trial in asked]

    def tell(self, scores: Sequence[Score]) -> None:
        """Store the round in the studies.

        Args:
            scores: Scores of the fits of all `trials`. Every trial has the same number of fits, and its scores are
                adjacent.
        """
        seconds = (time.perf_counter() - self._started) / len(self._asked)
        n_fits = len(scores) // sum(map(len, self._asked.values()))
        left = iter(scores)
        for number, asked in self._asked.items():
            self._searches[number].tell(asked, [mean_score(list(islice(left, n_fits))) for _ in asked], seconds)


def rounds(searches: Sequence[Search], protocol: Protocol) -> Iterator[Round]:
    """Yield the rounds that some studies still need.

    A round's scores must be stored by `Round.tell` before the next round is drawn.

    Args:
        searches: The studies.
        protocol: Divides the trials into rounds.
    """
    for start, end in protocol.rounds():
        if due := [number for number, search in enumerate(searches) if search.n_asked < end]:
            yield Round(searches, due, start, end)


def mean_score(of_folds: Sequence[Score]) -> Score:
    """Return the score of a trial: the mean over its folds, and the first reason, if any, why a fold has no score."""
    flaws = (score.flaw for score in of_folds if score.flaw)
    return Score(float(np.mean([score.value for score in of_folds])), next(flaws, ""))


def n_combinations(space: Mapping[str, BaseDistribution]) -> int | None:
    """Return the number of points of a search space that consists of choices only, or None if it contains a range."""
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
        raise TypeError(f"a search space has a {type(distribution).__name__}; use a float, int or categorical one")
    if distribution.log:
        return math.sqrt(distribution.low * distribution.high)
    return (distribution.low + distribution.high) / 2


def _sampler(name: str, seed: int) -> BaseSampler:
    if name == "tpe":
        return TPESampler(seed=seed, n_startup_trials=TPE_STARTUP, constant_liar=True)
    return RandomSampler(seed=seed)


def _opened(path: Path, space: Mapping[str, BaseDistribution], protocol: Protocol) -> optuna.Study:
    """Return the study in a file, or a new study unless the file has complete rounds over this search space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError, ValueError):
        study = read_study(path)
        trials = study.get_trials(deepcopy=False)
        of_space = all(trial.distributions == space for trial in trials)
        if of_space and len(trials) in {end for _, end in protocol.rounds()}:
            return study
    return optuna.create_study(direction="minimize")
