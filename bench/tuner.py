"""Hyper-parameter search inside one train split: an Optuna study whose trials train together.

Trials are asked for in rounds. A round's trials x folds are one stack; the objective of a trial is the mean over the
folds of the validation NMLL. Only training rows are ever seen here.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from bench.protocol import Protocol
from bench.seeds import seed_of

TPE_STARTUP, TPE_ROUND = 10, 5
SECONDS = "seconds of the round from trial "  # user attributes of a study
ABSURD_NMLL = 1e6  # nats; a fit this bad has diverged though its numbers are still finite

# (trial number, hyper-parameters) of a round's trials -> the mean validation NMLL of each
Objective = Callable[[list[tuple[int, dict[str, float]]]], list[float]]


class Diverged(ArithmeticError):
    """Training left the numbers that mean anything."""


@dataclass(frozen=True)
class Tuned:
    """The outcome of a study.

    Attributes:
        hparams, validation_nmll: of the best trial.
        n_trials, n_failed: trials in all, and those without a usable score.
        seconds: wall-clock time of all rounds, those before an interruption included.
    """

    hparams: dict[str, float]
    validation_nmll: float
    n_trials: int
    n_failed: int
    seconds: float = field(compare=False)


def tune(
    journal: Path, space: dict[str, BaseDistribution], protocol: Protocol, seed: int, objective: Objective
) -> Tuned:
    """Run the study kept in the file `journal`, or what is left of it, and return its best trial.

    A trial's hyper-parameters depend on `seed`, its number and, for TPE, the rounds before it, so a study that was
    interrupted goes on from its last complete round and ends as it would have undisturbed. A trial whose score is
    not finite, or absurd, is told as failed.

    Raises:
        Diverged: when all trials failed.
    """
    study = _opened(journal, protocol)
    for start, end in rounds(protocol):
        if len(study.trials) >= end:
            continue
        started, asked = time.perf_counter(), []
        for number in range(start, end):
            study.sampler = _sampler(protocol.sampler, seed_of(seed, "trial", number))
            asked.append(study.ask(space))
        scores = objective([(trial.number, trial.params) for trial in asked])
        # Before the telling, which is what makes a round complete.
        study.set_user_attr(f"{SECONDS}{start}", time.perf_counter() - started)
        for trial, score in zip(asked, scores, strict=True):
            if math.isfinite(score) and score < ABSURD_NMLL:
                study.tell(trial, score)
            else:
                study.tell(trial, state=TrialState.FAIL)
    failed = sum(trial.state == TrialState.FAIL for trial in study.trials)
    if failed == len(study.trials):
        raise Diverged(f"all {failed} trials diverged: no validation NMLL was below {ABSURD_NMLL:g}")
    seconds = sum(value for name, value in study.user_attrs.items() if name.startswith(SECONDS))
    return Tuned(study.best_params, study.best_value, len(study.trials), failed, seconds)


def mean_over_folds(scores: np.ndarray, n_folds: int) -> list[float]:
    """The objective of each trial from scores of trials x folds, in that order."""
    return scores.reshape(-1, n_folds).mean(axis=1).tolist()


def rounds(protocol: Protocol) -> Iterator[tuple[int, int]]:
    """First and one-past-last trial number of each round."""
    if protocol.sampler == "random":
        yield 0, protocol.trials
        return
    start, end = 0, min(TPE_STARTUP, protocol.trials)
    while start < end:
        yield start, end
        start, end = end, min(end + TPE_ROUND, protocol.trials)


def _sampler(name: str, seed: int) -> BaseSampler:
    seed %= 2**32  # what Optuna's random state takes
    if name == "random":
        return RandomSampler(seed=seed)
    return TPESampler(seed=seed, n_startup_trials=TPE_STARTUP, constant_liar=True)


def _opened(journal: Path, protocol: Protocol) -> optuna.Study:
    """The study in `journal` cut back to its complete rounds; a new one if there is none or it cannot be read."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal.parent.mkdir(parents=True, exist_ok=True)
    _tidy(journal)
    found = _readable(journal)
    trials = found.trials if found else []
    finished = sum(trial.state.is_finished() for trial in trials)
    complete = max((end for _, end in rounds(protocol) if end <= finished), default=0)
    if found and complete == len(trials):
        return found
    if journal.exists():
        # Half a round may lack parameters that a killed process never wrote, so the file is made anew without it.
        fresh = journal.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        copy = _study(fresh)
        copy.add_trials(trials[:complete])
        for name, value in (found.user_attrs if found else {}).items():
            copy.set_user_attr(name, value)
        os.replace(fresh, journal)
    return _study(journal)


def _tidy(journal: Path) -> None:
    """Take out what a killed process left: its lock, and a half line, which Optuna would append to and so spoil."""
    Path(f"{journal}.lock").unlink(missing_ok=True)
    if journal.exists():
        written = journal.read_bytes()
        whole = written.rfind(b"\n") + 1
        if whole < len(written):
            os.truncate(journal, whole)


def _readable(journal: Path) -> optuna.Study | None:
    try:
        return _study(journal) if journal.exists() else None
    except (ValueError, KeyError, AssertionError):  # not a journal, or one with a hole
        return None


def _study(journal: Path) -> optuna.Study:
    storage = JournalStorage(JournalFileBackend(str(journal)))
    return optuna.create_study(storage=storage, study_name="cell", direction="minimize", load_if_exists=True)
