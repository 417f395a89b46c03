"""Evaluation of methods by Bayesian optimisation: a search for the row of a table that has the largest target.

Targets of 20 random rows are known. In each of `BATCHES` batches, the method is fitted anew to all known targets, and
asks for further ones of rows in the pool. For each row of a batch, one of the S samples that the fit predicts with is
drawn at random, and the row of the largest mean under this sample is chosen (parallel Thompson sampling;
Hernandez-Lobato, Requeima, Pyzer-Knapp and Aspuru-Guzik 2017, Parallel and distributed Thompson sampling). No row is
asked for twice.

The row's other scores, such as the NMLL, are those of one more fit: it is trained on equally many rows in all, chosen
at random, and predicts the test rows.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import torch
from scipy.special import gammaln

from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.draws import means
from lockstep_bench.bench.evaluation.repeated_fits import RepeatedFits, Request
from lockstep_bench.bench.evaluation.scoring import diverged
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets.synthetic.pools import Optimised
from lockstep_bench.shared.columns import REGRETS
from lockstep_bench.shared.seeds import seed_of

BUDGET, BATCHES = 50, 10  # targets that are asked for, and batches of them


class Search:
    """A search for the largest target of a pool: the rows chosen so far, and their regret.

    Args:
        y: (N,), the targets of all rows.
        first: Rows whose targets are known from the start.
        pool: Rows that can be chosen.
        seed: Seed of the choices.

    Attributes:
        known: (n,), rows with known targets.
        pool: Rows that can still be chosen.
    """

    def __init__(self, y: np.ndarray, first: np.ndarray, pool: np.ndarray, seed: int):
        self.known, self.pool = first, pool
        self._y, self._n_first, self._targets, self._seed = y, len(first), y[pool], seed

    def take_best(self, values: np.ndarray, count: int) -> None:
        """Choose `count` rows of the pool by Thompson sampling, given values (S, n) of its n rows under S samples.

        For each choice one sample is drawn at random, and the row of its largest value is chosen.

        Among equal values the row is chosen at random. Values that are not finite count as the smallest.
        """
        generator = np.random.default_rng(seed_of(self._seed, "policy", len(self.known)))
        order = generator.permutation(len(self.pool))
        shuffled = np.where(np.isfinite(values), values, -np.inf)[:, order]
        left = np.ones(len(order), bool)
        for sample in generator.integers(len(values), size=count):
            open_places = np.flatnonzero(left)
            left[open_places[shuffled[sample, open_places].argmax()]] = False
        self.known = np.concatenate([self.known, self.pool[order[~left]]])
        self.pool = self.pool[np.sort(order[left])]

    @property
    def n_chosen(self) -> int:
        """Number of rows chosen so far."""
        return len(self.known) - self._n_first

    def regret(self) -> float:
        """Return the sum of the k largest targets of the whole pool minus the sum over the k rows chosen so far."""
        return float(self._largest().sum() - self._y[self.known[self._n_first :]].sum())

    def regret_uniform(self) -> float:
        """Return the expected regret of equally many random rows."""
        return float(self._largest().sum() - self.n_chosen * self._targets.mean())

    def simple_regret(self) -> float:
        """Return the largest target of the whole pool minus the largest known target."""
        return float(self._targets.max() - self._y[self.known].max())

    def simple_regret_uniform(self) -> float:
        """Return the expected simple regret after equally many random rows."""
        floor = self._y[self.known[: self._n_first]].max()
        return float(self._targets.max() - expected_maximum(np.maximum(self._targets, floor), self.n_chosen))

    def _largest(self) -> np.ndarray:
        return np.sort(self._targets)[len(self._targets) - self.n_chosen :]


def expected_maximum(values: np.ndarray, count: int) -> float:
    """Return the expected maximum of `count` of the values (N,), drawn at random without replacement.

    With v_1 <= ... <= v_N it is sum_i v_i C(i - 1, k - 1) / C(N, k), because the other k - 1 drawn values are among the
    first i - 1.
    """
    ranks = np.arange(count, len(values) + 1)
    logs = _log_choose(ranks - 1, count - 1) - _log_choose(len(values), count)
    return float(np.exp(logs) @ np.sort(values)[count - 1 :])


def _log_choose(n: np.ndarray | int, k: int) -> np.ndarray:
    chosen: np.ndarray = gammaln(np.add(n, 1)) - gammaln(k + 1) - gammaln(np.subtract(n, k) + 1)
    return chosen


def batch_sizes(budget: int, n_batches: int) -> list[int]:
    """Return the sizes of `n_batches` about equal batches of `budget` rows in all, or of fewer batches of one row."""
    sizes: list[int] = np.diff(np.unique(np.linspace(0, budget, n_batches + 1).round().astype(int))).tolist()
    return sizes


class OptimisationEvaluation:
    """Evaluation of a method in the searches of all cells of a job, side by side; its fits are trained as stacks.

    Args:
        job: The cells: one method on several splits of a pool.
        device: The torch device that fits are trained on.
        on_progress: Called now and then with the progress of the job.
    """

    def __init__(self, job: Job, device: torch.device, on_progress: OnProgress):
        self._assignment = assignment = Assignment.of(job, device)
        assert isinstance(assignment.source, Optimised)
        source, y = assignment.source, assignment.dataset.y
        self.searches = [
            Search(y, split.train, source.pool(split), each.fit_seed)
            for split, each in zip(assignment.splits, assignment.seeded, strict=True)
        ]
        self._sizes = batch_sizes(min(BUDGET, assignment.protocol.stream_length, len(self.searches[0].pool)), BATCHES)
        self._scale = float(y.std())
        self.fits = RepeatedFits(assignment, on_progress)
        self.fits.expect([len(self.searches)] * (len(self._sizes) + 1))
        self._flawed: set[int] = set()  # places of fits whose predictions were not finite
        self._curves: list[list[dict[str, float]]] = [[] for _ in self.searches]

    def run(self) -> Iterator[list[Outcome]]:
        """Search in all cells, and yield the outcomes of all cells before and after."""
        yield self.fits.known()
        scored = self._random_rows()
        for size in self._sizes:
            self._choose(size)
        predictives = zip(self.fits.predictives(scored), scored, strict=True)
        scores = [self.fits.scores(predictive, each.at, each.rows) for predictive, each in predictives]
        fitted = enumerate(zip(self.fits.fitted(), scores, strict=True))
        yield [self._outcome(place, *each) for place, each in fitted]

    def _random_rows(self) -> list[Request]:
        """Return the fits that are scored, each to the first rows and as many random ones as are chosen in all."""
        requests = []
        for place, (search, each) in enumerate(zip(self.searches, self._assignment.seeded, strict=True)):
            generator = np.random.default_rng(seed_of(each.fold_seed, "random"))
            rows = np.concatenate([search.known, generator.permutation(search.pool)[: sum(self._sizes)]])
            requests.append(Request(place, rows, seed_of(each.fit_seed, "scored"), self._assignment.splits[place].test))
        return requests

    def _choose(self, size: int) -> None:
        """Fit the method to all known targets, and choose a batch of `size` rows in each cell."""
        requests = [
            Request(place, search.known, seed_of(each.fit_seed, "fit", len(search.known)), search.pool)
            for place, (search, each) in enumerate(zip(self.searches, self._assignment.seeded, strict=True))
        ]
        for place, predictive in enumerate(self.fits.predictives(requests)):
            search, values = self.searches[place], means(predictive)
            if not np.isfinite(values).all():
                self._flawed.add(place)
            search.take_best(values, size)
            self._curves[place].append(
                {
                    "round": search.n_chosen,
                    "regret": search.regret(),
                    "regret_uniform": search.regret_uniform(),
                    "simple_regret": search.simple_regret() / self._scale,
                    "simple_regret_uniform": search.simple_regret_uniform() / self._scale,
                }
            )

    def _outcome(self, place: int, known: Outcome, scores: dict[str, float]) -> Outcome:
        """Return a cell's outcome after its last batch."""
        if place in self._flawed:
            return diverged(known, "predicted targets are not finite")
        curve, last = self._curves[place], self._curves[place][-1]
        regrets = {name: last[name] for name in ("regret", "simple_regret")}
        chance = {name: last[name] for name in ("regret_uniform", "simple_regret_uniform")}
        return replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(**chance),
            metrics=scores | regrets | {"regret_uniform_ratio": last["regret"] / last["regret_uniform"]},
            tables={"regrets": _table(curve, ""), "simple_regrets": _table(curve, "simple_")},
        )


def _table(curve: list[dict[str, float]], kind: str) -> pa.Table:
    rows = [
        {"round": each["round"], **{name: each[f"{kind}{name}"] for name in ("regret", "regret_uniform")}}
        for each in curve
    ]
    return pa.Table.from_pylist(rows, schema=REGRETS)
