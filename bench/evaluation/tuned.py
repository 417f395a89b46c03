"""The base class of evaluations of methods that are tuned and trained on a data set."""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import ceil, isfinite, nan
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from optuna.distributions import BaseDistribution

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.convergence import convergence
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.seeds import seed_of
from lockstep_bench.bench.engine.stacked_training import Execution, train_stacked
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.engine.training_record import Trace
from lockstep_bench.bench.evaluation.elbo import with_elbos
from lockstep_bench.bench.evaluation.evaluation import Evaluation, diverged
from lockstep_bench.bench.experiment.progress import ProgressReporter
from lockstep_bench.bench.experiment.protocol import Protocol
from lockstep_bench.bench.experiment.tasks import as_json, method_for, space_of, task_from
from lockstep_bench.bench.results.record import FitFacts, Outcome, TuningFacts
from lockstep_bench.bench.schema import TRAINING
from lockstep_bench.bench.tuning.tuner import (
    Centred,
    Diverged,
    Search,
    Trials,
    Tuned,
    mean_over_folds,
    n_combinations,
    tune,
)
from lockstep_bench.datasets import source_of_split
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.methods.problem import Task

VALIDATION = "validation points"
RECORDED_UPDATES = 50  # of a final fit, at which diagnostics along training are recorded, at most


class Score(NamedTuple):
    """Score of a trial's fit on a part that is held out.

    Attributes:
        value: To be minimised; NaN where there is none.
        flaw: Why there is no finite value; "" if unknown.
    """

    value: float
    flaw: str = ""


def validation_score(predictive: Predictive, y: torch.Tensor) -> Score:
    """Return the NMLL of a predictive on validation targets y (n,), nats, or the reason why it has none."""
    try:
        value = metrics.nmll(predictive, y)
    except metrics.NoDistribution as problem:
        return Score(nan, metrics.flaw(predictive, VALIDATION) or str(problem))
    return Score(value, "" if isfinite(value) else metrics.flaw(predictive, VALIDATION) or "")


class LargestFits(NamedTuple):
    """Training rows of the largest fit of a trial, and of the largest final fit."""

    trial: int
    final: int


class TunedEvaluation(Evaluation):
    """Evaluation of methods that are tuned and trained on a data set; subclasses define the data and the scores.

    Attributes:
        objective: Field of `bench.results.record.TuningFacts` for the score of the chosen trial.
        standardise: True if each fit standardises its data by its own training rows.
        dtype: Floating-point type of the fits.
        execution: Execution of the stacks.
    """

    objective: str
    standardise: bool = True
    dtype: torch.dtype = torch.float32
    execution: Execution = "native"

    @property
    @abstractmethod
    def data(self) -> Data:
        """The data that fits are trained on."""

    @abstractmethod
    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, Any]]:
        """Return the `fits_per_trial` fits of a trial of cell `number`, each with its argument for `trial_scores`."""

    @abstractmethod
    def trial_scores(self, stack: TrainedFits, scored_on: Sequence[Any]) -> list[Score]:
        """Return the score of each fit of a stack on its element of `scored_on`."""

    @abstractmethod
    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        """Return the fit of cell `number` with the chosen hyper-parameters."""

    @abstractmethod
    def final_outcomes(self, stack: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        """Return the outcomes of the cells `numbers`, whose final fits are in the stack, with their status.

        Args:
            stack: The final fits.
            numbers: Their cells.
            known: Outcome of each of these cells so far.
        """

    def largest_fits(self, number: int) -> LargestFits | None:
        """Return the sizes of the largest fits that train in a stack with those of cell `number`.

        They set the number of updates. They are over all splits of the data set and not of the job, so that results do
        not depend on which cells share a job. None, as by default, if the splits of a job must have equally many
        training rows.
        """
        return None

    @property
    def task(self) -> Task:
        """The task of the first cell."""
        return self.tasks[0]

    @cached_property
    def tasks(self) -> list[Task]:
        """The task that the suite makes of the data set for the split of each cell."""
        return [
            task_from(source_of_split(self.source, self.dataset, cell.split), cell.suite, self.protocol)
            for cell in self.cells
        ]

    @cached_property
    def method(self) -> Method:
        """The method, as it is used on the task."""
        return method_for(self.cells[0].method, self.task)

    def method_space(self, number: int) -> dict[str, BaseDistribution]:
        """Return the search space of the method on the task of cell `number`, as its row records it."""
        return space_of(self.method, self.tasks[number], self.protocol)

    def space(self, number: int) -> dict[str, BaseDistribution]:
        """Return the part of `method_space` that is searched; by default all of it."""
        return self.method_space(number)

    @property
    def limit(self) -> int:
        """The most fits that train at a time."""
        return max(1, self.job.stack_rows // self.method.members) if self.method.stackable else 1

    @property
    def effort(self) -> float:
        """Factor by which a fit has more epochs than the protocol says."""
        return 1.0

    @property
    def fits_per_trial(self) -> int:
        """Number of fits that score one trial; by default one per fold that is held out."""
        return self.protocol.fits_per_trial

    @cached_property
    def progress(self) -> ProgressReporter:
        """The progress of all stacks of the job."""
        n_fits = [(end - start) * self.fits_per_trial for start, end in self.search.rounds()] + [1]
        sizes = [len(places) for _, places in self._alike(range(len(self.cells)))]
        n_stacks = sum(ceil(size * count / self.limit) for size in sizes for count in n_fits)
        return ProgressReporter(n_stacks, self._on_progress)

    @cached_property
    def search(self) -> Protocol:
        """The protocol, with no more trials than a grid or a single point has, and none where it fixes all."""
        given = self.protocol.fixed_for(self.method.name)
        space = self.space(0)
        if given and space.keys() <= given.keys():
            return self.protocol.changed(sampler="random" if self.job.validated else "centre", trials=1)
        points = n_combinations(space)
        if points is None or (points > 1 and self.protocol.sampler != "grid"):
            return self.protocol
        return self.protocol.changed(trials=min(points, self.protocol.trials))

    def run(self) -> Iterator[list[Outcome]]:
        """Tune, fit and score each cell."""
        known = [Outcome(data=self.data_facts(number)) for number in range(len(self.cells))]
        yield known
        sizes = sorted({len(split.train) for split in self.splits})
        if len(sizes) > 1 and self.largest_fits(0) is None:
            in_words = ", ".join(map(str, sizes))
            raise ValueError(
                f"splits of {self.source.name} have {in_words} training rows and cannot be trained in lockstep; only "
                "those of tables may differ; give each a job of its own"
            )
        known = [
            replace(outcome, search_space=as_json(self.method_space(number))) for number, outcome in enumerate(known)
        ]
        yield known
        self.prepare()
        tuned: dict[int, Tuned] = {}
        diverging: dict[int, Outcome] = {}
        for number, search in enumerate(self.tune()):
            try:
                tuned[number] = search.best()
            except Diverged as problem:
                diverging[number] = diverged(known[number], str(problem))
        known = _updated(known, diverging)
        known = _updated(known, {number: self._with_tuning(known[number], best) for number, best in tuned.items()})
        yield known
        for _, places in self._alike(list(tuned)):
            for first in range(0, len(places), self.limit):
                numbers = [list(tuned)[place] for place in places[first : first + self.limit]]
                for outcomes in self._fit_and_score(numbers, tuned, known):
                    yield outcomes
                known = outcomes

    def prepare(self) -> None:
        self.data  # noqa: B018

    def points(self, number: int) -> int:
        """Return the number of inputs at which the final fit of cell `number` predicts."""
        return len(self.splits[number].test) + len(self.dataset.ood)

    def final_seed(self, number: int) -> int:
        """Return the seed of the final fit of cell `number`."""
        return seed_of(self.cells[number].fit_seed, "final")

    def _fit_and_score(
        self, numbers: Sequence[int], tuned: Mapping[int, Tuned], known: list[Outcome]
    ) -> Iterator[list[Outcome]]:
        """Yield the outcomes of all cells after the final fits of the cells `numbers`, and after their scores."""
        fits = [self.final_fit(number, tuned[number].hparams) for number in numbers]
        started = self.now()
        stack = self.train(fits, number=numbers[0])
        facts = self._fit_facts(stack, (self.now() - started - stack.record.seconds) / len(fits))
        fitted = [replace(known[number], fit=fit) for number, fit in zip(numbers, facts, strict=True)]
        yield _updated(known, dict(zip(numbers, fitted, strict=True)))
        traces = stack.training_diagnostics()
        scored = [
            replace(outcome, tables={**outcome.tables, "training": _training_table(fit)}) if fit else outcome
            for outcome, fit in zip(self.final_outcomes(stack, numbers, fitted), traces, strict=True)
        ]
        yield _updated(known, dict(zip(numbers, scored, strict=True)))

    def _with_tuning(self, outcome: Outcome, best: Tuned) -> Outcome:
        facts = TuningFacts(
            hparams=json.dumps(best.hparams),
            n_trials=best.n_trials,
            n_trials_failed=best.n_failed,
            tune_seconds=best.seconds,
            **{self.objective: best.score},
        )
        return replace(outcome, tuning=facts)

    def _fit_facts(self, stack: TrainedFits, seconds: float) -> list[FitFacts]:
        n_updates = stack.schedule.plan.n_updates
        reported = [
            values | convergence(traces, n_updates, len(fit.rows))
            for values, traces, fit in zip(
                with_elbos(stack.diagnostics(), stack, self.data, self.protocol.samples),
                stack.training_diagnostics(),
                stack.fits,
                strict=True,
            )
        ]
        return [
            FitFacts(
                fit_seconds=seconds,
                n_weights=stack.n_weights,
                n_parameters=stack.n_parameters,
                execution=stack.execution,
                diagnostics=json.dumps({name: value if isfinite(value) else None for name, value in measured.items()}),
            )
            for measured in reported
        ]

    def tune(self) -> Sequence[Search | Centred]:
        """Return the finished study of each cell, or its replacement where nothing is tuned."""
        if self.search.sampler == "centre":
            return [Centred(self.space(number)) for number in range(len(self.cells))]
        searches = [
            Search(journal, self.space(number), self.search, cell.fit_seed)
            for number, (cell, journal) in enumerate(zip(self.cells, self.job.journals, strict=True))
        ]

        def objective(due: list[tuple[Search, Trials]]) -> list[list[float]]:
            wanted = [
                (*pair, number)
                for search, trials in due
                for number in [searches.index(search)]
                for trial, hparams in trials
                for pair in self.trial_fits(number, trial, hparams)
            ]
            of_fits = self._scores(*zip(*wanted, strict=True))
            scores = mean_over_folds(np.array([score.value for score in of_fits]), self.fits_per_trial)
            flaws = iter([score.flaw for score in of_fits])
            for search, trials in due:
                for trial, _ in trials:
                    search.explain(trial, next(filter(None, islice(flaws, self.fits_per_trial)), ""))
            ends = np.cumsum([len(trials) for _, trials in due])
            return [scores[end - len(trials) : end] for end, (_, trials) in zip(ends, due, strict=True)]

        tune(searches, self.search, objective)
        return searches

    def train(self, fits: Sequence[Fit], number: int = 0, n_recorded: int = RECORDED_UPDATES) -> TrainedFits:
        """Return final fits, trained together.

        Args:
            fits: The fits.
            number: One of their cells.
            n_recorded: Number of updates at which diagnostics are recorded, besides those for the convergence.
        """
        of_set = self.largest_fits(number)
        largest = of_set.final if of_set else len(fits[0].rows)
        return self._train(self.method, fits, largest, number, n_recorded)

    def _alike(self, numbers: Sequence[int]) -> list[tuple[LargestFits | None, list[int]]]:
        """Return which places of a list of cells train in one stack, each with the sizes of the largest fits.

        The cells of a stack have networks of the same inputs.
        """
        groups: dict[tuple[LargestFits | None, bytes | None], list[int]] = {}
        for place, number in enumerate(numbers):
            inputs = self.splits[number].inputs
            key = self.largest_fits(number), None if inputs is None else inputs.tobytes()
            groups.setdefault(key, []).append(place)
        return [(of_set, places) for (of_set, _), places in groups.items()]

    def _scores(self, fits: Sequence[Fit], scored_on: Sequence[Any], numbers: Sequence[int]) -> list[Score]:
        """Return the score of each fit on its element of `scored_on`; `numbers` are the cells of the fits."""
        scores = [Score(nan)] * len(fits)
        proxy = self.method.proxy()
        for of_set, places in self._alike(numbers):
            largest = of_set.trial if of_set else max(len(fit.rows) for fit in fits)
            for first in range(0, len(places), self.limit):
                part = places[first : first + self.limit]
                stack = self._train(proxy, [fits[place] for place in part], largest, numbers[part[0]])
                of_part = self.trial_scores(stack, [scored_on[place] for place in part])
                for place, score in zip(part, of_part, strict=True):
                    scores[place] = score
        return scores

    def _limit(self, method: Method) -> int | None:
        """Return the most minibatches that a fit may take."""
        of_updates = self.protocol.max_updates and self.protocol.max_updates * method.batches_per_update
        return min((limit for limit in (self.protocol.max_minibatches, of_updates) if limit), default=None)

    def _train(
        self, method: Method, fits: Sequence[Fit], largest: int, number: int = 0, n_recorded: int = 0
    ) -> TrainedFits:
        """Return fits, trained together; `number` is one of their cells."""
        protocol, inputs = self.protocol, self.splits[number].inputs
        schedule = Schedule(
            largest,
            protocol.batch_size,
            round(protocol.epochs * self.effort),
            method.batches_per_update,
            self._limit(method),
        )
        return train_stacked(
            method,
            self.tasks[number],
            self.data if inputs is None else replace(self.data, x=self.data.x[:, torch.tensor(inputs)]),
            fits,
            schedule,
            standardise=self.standardise,
            execution=self.execution,
            dtype=self.dtype,
            stacked=method.stackable,
            n_recorded=n_recorded,
            in_pairs=n_recorded > 0,
            on_update=self.progress.next_stack(schedule.plan.n_updates),
        )


def _training_table(traces: Mapping[str, Trace]) -> pa.Table:
    """Return diagnostics along a fit's training as a table of the schema `TRAINING`."""
    rows = [
        {"update": update, "name": name, "value": value}
        for name, trace in traces.items()
        for update, value in zip(trace.updates.tolist(), trace.values.tolist(), strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=TRAINING)


def _updated(outcomes: Sequence[Outcome], changes: Mapping[int, Outcome]) -> list[Outcome]:
    """Return the outcomes with those of some cells replaced, by their number."""
    return [changes.get(number, outcome) for number, outcome in enumerate(outcomes)]
