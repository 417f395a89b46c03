"""Evaluation of methods by the decisions that they lead to: the regret of Thompson sampling in a contextual bandit.

The rounds are cut into `BLOCKS` blocks. In the first one, the actions are taken in turn. Before each later block, the
method is fitted anew to the rewards of all actions taken so far. In each round of the block, one of the S samples that
the fit predicts with is chosen at random, and then the action of the largest mean reward under this sample (Thompson
sampling; Riquelme, Tucker and Snoek 2018, Deep Bayesian Bandits Showdown).

One more fit is scored as any other: it is trained on the rewards of random actions in the first half of the rounds, and
predicts those of random actions in the other half.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import torch

from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.draws import means
from lockstep_bench.bench.evaluation.repeated_fits import RepeatedFits, Request
from lockstep_bench.bench.evaluation.scoring import diverged
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets.synthetic.bandits import Bandit
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
        """Play the next n rounds by Thompson sampling, given values (S, n, K) of the K actions under S samples.

        For each round one sample is drawn at random, and the action of its largest value is taken.

        Among equal values the action is chosen at random. Values that are not finite count as equal.
        """
        generator = np.random.default_rng(seed_of(self._seed, "policy", len(self.actions)))
        n_rounds = values.shape[1]
        drawn = values[generator.integers(len(values), size=n_rounds), np.arange(n_rounds)]
        drawn = np.where(np.isfinite(drawn).all(axis=1, keepdims=True), drawn, 0.0)
        best = drawn == drawn.max(axis=1, keepdims=True)
        self._take((best * generator.uniform(0.5, 1.0, size=best.shape)).argmax(axis=1))

    def regret(self) -> np.ndarray:
        """Return the cumulative regret (t,): the best action's expected reward minus the taken action's, summed."""
        expected = self._expected[: len(self.actions)]
        return np.cumsum(expected.max(axis=1) - expected[np.arange(len(expected)), self.actions])

    def regret_uniform(self) -> np.ndarray:
        """Return the expected cumulative regret (t,) of uniformly random actions in the same rounds."""
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
        assert isinstance(assignment.source, Bandit)
        source, dataset, protocol = assignment.source, assignment.dataset, assignment.protocol
        rounds = [source.rounds(split)[: protocol.stream_length] for split in assignment.splits]
        expected = source.expected(dataset)
        self.plays = [
            Play(rows, expected[rows], each.fit_seed) for rows, each in zip(rounds, assignment.seeded, strict=True)
        ]
        if len(rounds[0]) < 2:
            raise ValueError("stream_length is 1, and a bandit needs 2 rounds: a first one, and one after a fit")
        self._ends = block_ends(len(rounds[0]))
        self.fits = RepeatedFits(assignment, on_progress)
        self.fits.expect([len(self.plays)] * len(self._ends))
        self._flawed: set[int] = set()  # places of fits whose predictions were not finite

    def run(self) -> Iterator[list[Outcome]]:
        """Play all bandits, and yield the outcomes of all cells before and after."""
        yield self.fits.known()
        for play in self.plays:
            play.take_in_turn(self._ends[0])
        for start, end in pairwise(self._ends):
            self._play_block(start, end)
        scores = self._scores()
        fitted = enumerate(zip(self.fits.fitted(), scores, strict=True))
        yield [self._outcome(place, *each) for place, each in fitted]

    def _play_block(self, start: int, end: int) -> None:
        """Fit the method to the first `start` rounds, and play the rounds up to `end`."""
        seeded, rows = self._assignment.seeded, [play.rows[start:end] for play in self.plays]
        requests = [
            Request(place, play.chosen(), seed_of(seeded[place].fit_seed, "fit", start), rows[place].ravel())
            for place, play in enumerate(self.plays)
        ]
        for place, predictive in enumerate(self.fits.predictives(requests)):
            values = means(predictive).reshape(-1, *rows[place].shape)
            if not np.isfinite(values).all():
                self._flawed.add(place)
            self.plays[place].take_best(values)

    def _scores(self) -> list[dict[str, float]]:
        """Return scores of fits to random actions in the first half of the rounds, on those in the other half."""
        requests = []
        for place, (play, each) in enumerate(zip(self.plays, self._assignment.seeded, strict=True)):
            n_rounds, n_actions = play.rows.shape
            actions = np.random.default_rng(seed_of(each.fold_seed, "random")).integers(n_actions, size=n_rounds)
            rows = play.rows[np.arange(n_rounds), actions]
            half = n_rounds // 2
            requests.append(Request(place, rows[:half], seed_of(each.fit_seed, "scored"), rows[half:]))
        predictives = zip(self.fits.predictives(requests), requests, strict=True)
        return [self.fits.scores(predictive, each.at, each.rows) for predictive, each in predictives]

    def _outcome(self, place: int, known: Outcome, scores: dict[str, float]) -> Outcome:
        """Return a cell's outcome after its last round."""
        if place in self._flawed:
            return diverged(known, "predicted rewards are not finite")
        play = self.plays[place]
        curves = {"regret": play.regret(), "regret_uniform": play.regret_uniform()}
        last = {name: float(curve[-1]) for name, curve in curves.items()}
        ends = np.array(self._ends)
        table = {"round": ends, **{name: curve[ends - 1] for name, curve in curves.items()}}
        regrets = {"regret": last["regret"], "regret_uniform_ratio": last["regret"] / last["regret_uniform"]}
        return replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(regret_uniform=last["regret_uniform"]),
            metrics=scores | regrets,
            tables={"regrets": pa.table(table, schema=REGRETS)},
        )


def block_ends(n_rounds: int) -> list[int]:
    """Return the number of the last round of each of `BLOCKS` blocks of about equal length.

    With fewer rounds than `BLOCKS`, each round is a block.
    """
    ends: list[int] = np.unique(np.linspace(0, n_rounds, BLOCKS + 1).round().astype(int))[1:].tolist()
    return ends
