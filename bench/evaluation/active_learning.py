"""Evaluation of methods by active learning: how fast errors fall if the method chooses what it is trained on.

Targets of 20 random rows are known. In each of `BATCHES` batches, the method is fitted anew to all known targets, and
the targets of further rows are acquired by an acquisition function (`bench.evaluation.acquisition`). A method is
compared with itself: each acquisition function begins with the same fit, and one of them acquires rows at random, the
same ones for all methods. After each batch, the fit is scored at the test rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.evaluation.acquisition import ACQUISITIONS
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.draws import means, noise_variance
from lockstep_bench.bench.evaluation.optimisation import batch_sizes
from lockstep_bench.bench.evaluation.repeated_fits import RepeatedFits, Request
from lockstep_bench.bench.evaluation.scoring import diverged
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets.synthetic.pools import Pool
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.shared.columns import LEARNING
from lockstep_bench.shared.seeds import seed_of

BUDGET, BATCHES = 100, 10  # targets that are acquired, and batches of them
RANDOM = "random"


class Learner:
    """The rows that one acquisition function has acquired for one split.

    Args:
        acquisition: Name of the acquisition function.
        place: The number of the split in the job.
        known: Rows whose targets are known from the start.
        pool: Rows whose targets can be acquired.
        seed: Seed of random choices.

    Attributes:
        known: (n,), rows with known targets.
        pool: Rows whose targets can still be acquired.
        curve: Scores of the fits so far.
    """

    def __init__(self, acquisition: str, place: int, known: np.ndarray, pool: np.ndarray, seed: int):
        self.acquisition, self.place, self.known, self.pool = acquisition, place, known, pool
        self.curve: list[dict[str, float]] = []
        self._seed = seed

    def acquire(self, functions: np.ndarray, noise: np.ndarray, count: int) -> None:
        """Acquire the targets of `count` rows.

        Args:
            functions: (S, n), values of S drawn functions at the n rows of the pool.
            noise: (n,), variance of the targets around the function.
            count: number of rows.
        """
        generator = np.random.default_rng(seed_of(self._seed, "acquisition", len(self.known)))
        chosen = ACQUISITIONS[self.acquisition](functions, noise, count, generator)
        self.known = np.concatenate([self.known, self.pool[chosen]])
        self.pool = np.delete(self.pool, chosen)


class ActiveLearningEvaluation:
    """Evaluation of a method by active learning in all cells of a job, side by side; its fits are trained as stacks.

    Args:
        job: The cells: one method on several splits of a pool.
        device: The torch device that fits are trained on.
        on_progress: Called now and then with the progress of the job.
    """

    def __init__(self, job: Job, device: torch.device, on_progress: OnProgress):
        self._assignment = assignment = Assignment.of(job, device)
        assert isinstance(assignment.source, Pool)
        pools = [assignment.source.pool(split) for split in assignment.splits]
        self.learners = [
            Learner(name, place, split.train, pools[place], each.fold_seed if name == RANDOM else each.fit_seed)
            for place, (split, each) in enumerate(zip(assignment.splits, assignment.seeded, strict=True))
            for name in ACQUISITIONS
        ]
        self._sizes = batch_sizes(min(BUDGET, assignment.protocol.stream_length, len(pools[0])), BATCHES)
        self.fits = RepeatedFits(assignment, on_progress)
        self.fits.expect([len(self.learners)] * (len(self._sizes) + 1))
        self._flawed: set[int] = set()  # places of fits that predicted no distribution
        self._scores: dict[int, dict[str, float]] = {}  # of the last fit to random rows, by place

    def run(self) -> Iterator[list[Outcome]]:
        """Learn in all cells, and yield the outcomes of all cells before and after."""
        yield self.fits.known()
        for size in [*self._sizes, 0]:
            self._learn(size)
        yield [self._outcome(place, known) for place, known in enumerate(self.fits.fitted())]

    def _learn(self, size: int) -> None:
        """Fit the method to all known targets, score the fits, and acquire `size` further targets for each."""
        seeded, splits = self._assignment.seeded, self._assignment.splits
        requests = [
            Request(
                place=learner.place,
                rows=learner.known,
                seed=seed_of(seeded[learner.place].fit_seed, "fit", len(learner.known)),
                at=np.concatenate([splits[learner.place].test, learner.pool if size else learner.pool[:0]]),
            )
            for learner in self.learners
        ]
        for learner, predictive in zip(self.learners, self.fits.predictives(requests), strict=True):
            self._advance(learner, predictive, size)

    def _advance(self, learner: Learner, predictive: Predictive, size: int) -> None:
        """Score a fit by its predictive at test rows and rows of the pool, and acquire `size` further targets."""
        test = self._assignment.splits[learner.place].test
        tested, pool = part_of(predictive, slice(len(test))), part_of(predictive, slice(len(test), None))
        if not (scores := self.fits.errors(tested, test)) or metrics.flaw(pool):
            self._flawed.add(learner.place)
        learner.curve.append({"n_train": len(learner.known), **scores})
        if learner.place in self._flawed:
            return
        if size:
            learner.acquire(means(pool), noise_variance(pool), size)
        elif learner.acquisition == RANDOM:
            self._scores[learner.place] = self.fits.scores(tested, test, learner.known)

    def _outcome(self, place: int, known: Outcome) -> Outcome:
        """Return a cell's outcome after its last batch."""
        if place in self._flawed:
            return diverged(known, "a fit predicts no distribution at test rows or in the pool")
        curves = {learner.acquisition: learner.curve for learner in self.learners if learner.place == place}
        rows = [{"acquisition": name, **each} for name, curve in curves.items() for each in curve]
        return replace(
            known,
            status="ok",
            metrics=self._scores[place] | areas(curves),
            tables={"learning": pa.Table.from_pylist(rows, schema=LEARNING)},
        )


def areas(curves: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """Return each score's mean over the fits after the first one, and the mean RMSE relative to random acquisition.

    Args:
        curves: for each acquisition function, the scores "rmse" and "nmll" of its fits.
    """
    means_of = {
        f"active_{name}_{acquisition}": float(np.mean([each[name] for each in curve[1:]]))
        for name in ("rmse", "nmll")
        for acquisition, curve in curves.items()
    }
    chance = means_of[f"active_rmse_{RANDOM}"]
    ratios = {f"active_ratio_{name}": means_of[f"active_rmse_{name}"] / chance for name in curves if name != RANDOM}
    return means_of | ratios


def part_of(predictive: Predictive, points: slice) -> Predictive:
    """Return the predictive at some of its points."""
    return type(predictive)(*(part[:, points] for part in predictive))
