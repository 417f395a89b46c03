"""Tuning studies with an objective whose minimum is known, for tests."""

import math

import pytest
from optuna.distributions import FloatDistribution

from lockstep_bench.bench.evaluation.tuning.tuner import Score, Search, Tuned, rounds
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.studies import read_study

SPACE = {"lr": FloatDistribution(1e-4, 1e-1, log=True), "precision": FloatDistribution(0.01, 10, log=True)}

TRIALS = 17  # for TPE rounds of 10, 5 and 2
GP_TRIALS = 12
ROUNDS = {"random": [17], "grid": [17], "tpe": [10, 5, 2]}  # the numbers of trials in each sampler's rounds
SAMPLERS = pytest.mark.parametrize("sampler", ROUNDS)


class Crash(BaseException):
    """An exception that the code under test does not catch, which simulates a kill."""


class Objective:
    """Objective (log10 lr + 2)^2 + log10(precision)^2, except for trials in `scores`; may raise `Crash`."""

    def __init__(self, crash_in_round: int | None = None, scores: dict[int, float] | None = None):
        self.rounds, self.crash_in_round, self.scores = [], crash_in_round, scores or {}

    def __call__(self, trials):
        if len(self.rounds) == self.crash_in_round:
            raise Crash
        self.rounds.append([number for number, _ in trials])
        return [self.scores.get(number, self.of(hparams)) for number, hparams in trials]

    @staticmethod
    def of(hparams):
        return (math.log10(hparams["lr"]) + 2) ** 2 + math.log10(hparams["precision"]) ** 2


def run(journal, sampler="tpe", objective=None, seed=0, trials=TRIALS, space=SPACE) -> Tuned:
    objective, protocol = objective or Objective(), Protocol(trials=trials, sampler=sampler)
    search = Search(journal, space, protocol, seed)
    for due in rounds([search], protocol):
        due.tell([Score(value) for value in objective([(number, hparams) for _, number, hparams in due.trials])])
    return search.best()


def trials_of(journal) -> list[tuple]:
    """Return number, hyper-parameters, score and state of every trial, as read from the study's file."""
    return [(trial.number, trial.params, trial.value, trial.state) for trial in read_study(journal).trials]
