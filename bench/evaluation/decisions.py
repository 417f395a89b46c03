"""Evaluation of methods by the decisions that they lead to: the regret of Thompson sampling in a contextual bandit.

The rounds are cut into `BLOCKS` blocks. In the first one, the actions are taken in turn. Before each later block, the
method is fitted anew to the rewards of all actions taken so far. In each round of the block, one of the S samples that
the fit predicts with is chosen at random, and then the action of the largest mean reward under this sample (Thompson
sampling; Riquelme, Tucker and Snoek 2018, Deep Bayesian Bandits Showdown).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import torch

from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.scoring import diverged
from lockstep_bench.bench.evaluation.trainer import stacked_trainer
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.experiment.tasks import as_json
from lockstep_bench.bench.metrics.regression import moments
from lockstep_bench.bench.results.record import FitFacts, Outcome, TuningFacts
from lockstep_bench.datasets.synthetic.bandits import Bandit
from lockstep_bench.methods.maths.predictive import Classes, NormalMixtures, Normals, Predictive
from lockstep_bench.shared.columns import REGRETS
from lockstep_bench.shared.seeds import seed_of

BLOCKS = 20


class Play:
    """A bandit that is being played: the actions taken so far, and their regret.

    Args:
        rows: (T, K), the row of each action in each round.
        expected: (T, K), the expected rewards of these actions.
        seed: Seed of the choices.

    Attributes:
        actions: (t,), the actions of the first t rounds.
    """

    def __init__(self, rows: np.ndarray, expected: np.ndarray, seed: int):
        self.rows, self.actions, self._expected, self._seed = rows, np.empty(0, np.int64), expected, seed

    def chosen(self) -> np.ndarray:
        """Return the rows (t,) of the actions taken."""
        return self.rows[np.arange(len(self.actions)), self.actions]

    def take_in_turn(self, count: int) -> None:
        """Take the actions in turn for `count` rounds."""
        self._take(np.arange(count) % self.rows.shape[1])

    def take_best(self, values: np.ndarray) -> None:
        """Play the next n rounds by values (S, n, K): each round by a random sample, the action of the largest value.

        Among equal values the action is chosen at random. Values that are not finite count as equal.
        """
        generator = np.random.default_rng(seed_of(self._seed, "policy", len(self.actions)))
        n_rounds = values.shape[1]
        drawn = values[generator.integers(len(values), size=n_rounds), np.arange(n_rounds)]
        drawn = np.where(np.isfinite(drawn).all(axis=1, keepdims=True), drawn, 0.0)
        best = drawn == drawn.max(axis=1, keepdims=True)
        self._take((best * generator.uniform(0.5, 1.0, size=best.shape)).argmax(axis=1))

    def regret(self) -> np.ndarray:
        """Return the sum of regrets (t,) up to each round: that of its best action less that of the action taken."""
        expected = self._expected[: len(self.actions)]
        return np.cumsum(expected.max(axis=1) - expected[np.arange(len(expected)), self.actions])

    def regret_uniform(self) -> np.ndarray:
        """Return the expected sum of regrets (t,) of uniformly random actions in the same rounds."""
        expected = self._expected[: len(self.actions)]
        return np.cumsum(expected.max(axis=1) - expected.mean(axis=1))

    def _take(self, actions: np.ndarray) -> None:
        self.actions = np.concatenate([self.actions, actions])


class BanditEvaluation:
    """Evaluation of a method on the bandits of all cells of a job, side by side; its fits are trained as stacks.

    Args:
        job: The cells: one method on several splits of a bandit.
        device: The torch device that fits are trained on.
        on_progress: Called now and then with the progress of the job.

    Raises:
        ValueError: There is only one round, and so no fit.
    """

    def __init__(self, job: Job, device: torch.device, on_progress: OnProgress):
        self._assignment = assignment = Assignment.of(job, device)
        assert isinstance(assignment.source, Bandit)  # the only kind of data set in suites of decisions
        source, dataset, protocol = assignment.source, assignment.dataset, assignment.protocol
        rounds = [source.rounds(split)[: protocol.stream_length] for split in assignment.splits]
        expected = source.expected(dataset)
        self.plays = [
            Play(rows, expected[rows], each.fit_seed) for rows, each in zip(rounds, assignment.seeded, strict=True)
        ]
        if len(rounds[0]) < 2:
            raise ValueError("stream_length is 1, and a bandit needs 2 rounds: a first one, and one after a fit")
        self._ends = block_ends(len(rounds[0]))
        self._data = Data.of(dataset.x, dataset.y, device)
        self._trainer = stacked_trainer(assignment, self._data, ProgressReporter(1, on_progress))
        places, limit = range(len(self.plays)), self._trainer.limit
        self._stacks = [places[first : first + limit] for first in places[::limit]]
        self._trainer.progress.n_stacks = len(self._stacks) * (len(self._ends) - 1)
        self._hparams = [Centred(assignment.space(place)).best().hparams for place in places]
        self._seconds = {"fit": 0.0, "predict": 0.0}
        self._flawed: set[int] = set()  # places of fits whose predictions were not finite

    def run(self) -> Iterator[list[Outcome]]:
        """Play all bandits, and yield the outcomes of all cells before and after."""
        assignment = self._assignment
        known = [
            Outcome(
                data=assignment.facts(place),
                search_space=as_json(assignment.space(place)),
                tuning=TuningFacts(hparams=json.dumps(hparams), n_trials=0, n_trials_failed=0),
            )
            for place, hparams in enumerate(self._hparams)
        ]
        yield known
        for play in self.plays:
            play.take_in_turn(self._ends[0])
        for start, end in pairwise(self._ends):
            for places in self._stacks:
                trained = self._play_block(places, start, end)
        n_predicted = sum(play.rows[self._ends[0] :].size for play in self.plays)
        fit = FitFacts(
            fit_seconds=self._seconds["fit"] / len(known),
            n_weights=trained.n_weights,
            n_parameters=trained.n_parameters,
            execution=trained.execution,
            predict_seconds_per_1000=self._seconds["predict"] / n_predicted * 1000,
        )
        yield [self._outcome(place, replace(outcome, fit=fit)) for place, outcome in enumerate(known)]

    def _play_block(self, places: Sequence[int], start: int, end: int) -> TrainedFits:
        """Fit the method to the first `start` rounds, play the rounds up to `end`, and return the fits."""
        trainer, assignment = self._trainer, self._assignment
        plays = [self.plays[place] for place in places]
        fits = [
            Fit(play.chosen(), self._hparams[place], seed_of(assignment.seeded[place].fit_seed, "fit", start))
            for place, play in zip(places, plays, strict=True)
        ]
        schedule = trainer.schedule(trainer.method, start)
        on_update = trainer.progress.next_stack(schedule.plan.n_updates)
        started = now(trainer.device)
        task = assignment.tasks[places[0]]
        trained: TrainedFits = trainer.engine(trainer.method, task, self._data, fits, schedule, on_update=on_update)
        predicting = now(trainer.device)
        rows = [play.rows[start:end] for play in plays]
        predictives = trained.predict([each.ravel() for each in rows], assignment.protocol.samples)
        for place, play, each, predictive in zip(places, plays, rows, predictives, strict=True):
            values = means(predictive).reshape(-1, *each.shape)
            if not np.isfinite(values).all():
                self._flawed.add(place)
            play.take_best(values)
        self._seconds["fit"] += predicting - started
        self._seconds["predict"] += now(trainer.device) - predicting
        return trained

    def _outcome(self, place: int, known: Outcome) -> Outcome:
        """Return a cell's outcome after its last round."""
        if place in self._flawed:
            return diverged(known, "predicted rewards are not finite")
        play = self.plays[place]
        curves = {"regret": play.regret(), "regret_uniform": play.regret_uniform()}
        last = {name: float(curve[-1]) for name, curve in curves.items()}
        ends = np.array(self._ends)
        table = {"round": ends, **{name: curve[ends - 1] for name, curve in curves.items()}}
        return replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(regret_uniform=last["regret_uniform"]),
            metrics={"regret": last["regret"], "regret_uniform_ratio": last["regret"] / last["regret_uniform"]},
            tables={"regrets": pa.table(table, schema=REGRETS)},
        )


def block_ends(n_rounds: int) -> list[int]:
    """Return the numbers of rounds at which blocks end: `BLOCKS` about equal ones, or fewer of one round each."""
    ends: list[int] = np.unique(np.linspace(0, n_rounds, BLOCKS + 1).round().astype(int))[1:].tolist()
    return ends


def means(predictive: Predictive) -> np.ndarray:
    """Return the mean (S, n) of each sample's predictive at each point, in original target units.

    A predictive that is not a mixture over samples has one mean per point, (1, n).
    """
    if isinstance(predictive, Normals):
        mean = predictive.mean
    elif isinstance(predictive, NormalMixtures):
        mean = (predictive.log_weights.exp() * predictive.means).sum(dim=2)
    else:
        assert not isinstance(predictive, Classes)  # rewards are real numbers
        mean = moments(predictive).mean[None]
    return mean.cpu().numpy()
