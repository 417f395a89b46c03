"""Evaluation of a method on splits of a data set: tune, fit and score, and yield the outcomes after each step."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite

import pyarrow as pa

from lockstep_bench.bench.engine.convergence import convergence
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.engine.training_record import Trace
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.elbo import with_elbos
from lockstep_bench.bench.evaluation.fits import SplitFits, stacks
from lockstep_bench.bench.evaluation.mixing import with_mixing
from lockstep_bench.bench.evaluation.scoring import Scorer, diverged
from lockstep_bench.bench.evaluation.search import search_protocol, tune
from lockstep_bench.bench.evaluation.trainer import Trainer
from lockstep_bench.bench.evaluation.tuning.tuner import Diverged, Tuned
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.experiment.tasks import as_json
from lockstep_bench.bench.results.record import DataFacts, FitFacts, Outcome, TuningFacts
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import TRAINING

RECORDED_UPDATES = 50  # of a final fit, at which diagnostics along training are recorded, at most


@dataclass(frozen=True)
class PreparedFits:
    """All that an evaluation needs: the fits of an assignment, their trainer and their scorer.

    Attributes:
        splits: The fits of each split.
        trainer: Trains the fits.
        scorer: Scores the trained fits.
        fits_per_trial: Number of fits that score one trial.
    """

    splits: Sequence[SplitFits]
    trainer: Trainer
    scorer: Scorer
    fits_per_trial: int = 1

    def search(self, validated: bool = False) -> Protocol:
        """Return the protocol for tuning, from `search_protocol`, which documents `validated`."""
        return search_protocol(
            self.trainer.protocol, self.trainer.method.name, self.splits[0].space, validated=validated
        )

    def n_stacks(self, search: Protocol) -> int:
        """Return the number of stacks (groups of fits trained together) in tuning and final training."""
        n_fits = [(end - start) * self.fits_per_trial for start, end in search.rounds()] + [1]
        sizes = [len(places) for places in stacks(self.splits, limit=len(self.splits))]
        return sum(ceil(size * count / self.trainer.limit) for size in sizes for count in n_fits)


@dataclass(frozen=True)
class TunedEvaluation:
    """Evaluation of the cells of a job side by side; a cell is a method on one split of a data set.

    Attributes:
        job: The cells, and the paths of their Optuna studies.
        assignment: The method and the splits of the data set.
        facts: Returns the numbers of rows and the checksums of a cell's data, given its number.
        prepare: Returns the fits, their trainer and their scorer. It is called before any time is measured, and loads
            all that fits share.
        on_progress: Called now and then with the progress of the job.
    """

    job: Job
    assignment: Assignment
    facts: Callable[[int], DataFacts]
    prepare: Callable[[ProgressReporter], PreparedFits]
    on_progress: OnProgress

    def run(self) -> Iterator[list[Outcome]]:
        """Yield the outcomes of all cells, as far as they are known, after each step: tuning, training, scoring."""
        numbers = range(len(self.job.cells))
        known = [Outcome(data=self.facts(number)) for number in numbers]
        yield known
        spaces = [as_json(self.assignment.space(number)) for number in numbers]
        known = [replace(outcome, search_space=space) for outcome, space in zip(known, spaces, strict=True)]
        yield known
        progress = ProgressReporter(1, self.on_progress)
        work = self.prepare(progress)
        search = work.search(self.job.validated)
        progress.n_stacks = work.n_stacks(search)
        searches = tune(work.trainer, work.splits, search, self.job.journals, work.scorer.trials)
        tuned: dict[int, Tuned] = {}
        known = list(known)
        for number, study in enumerate(searches):
            try:
                tuned[number] = study.best()
                known[number] = replace(known[number], tuning=_tuning_facts(tuned[number], work.scorer.objective))
            except Diverged as problem:
                known[number] = diverged(known[number], str(problem))
        yield known
        for places in stacks([work.splits[number] for number in tuned], work.trainer.limit):
            of_stack = {number: tuned[number] for number in (list(tuned)[place] for place in places)}
            trained, known = fitted(work, of_stack, known)
            yield known
            known = scored(work, trained, list(of_stack), known)
            yield known


def fitted(
    work: PreparedFits, tuned: Mapping[int, Tuned], known: Sequence[Outcome]
) -> tuple[TrainedFits, list[Outcome]]:
    """Train the final fits of some cells together, and return them, with the outcomes of all cells so far.

    Args:
        work: Fits, trainer and scorer of the job.
        tuned: Chosen hyper-parameters of these cells, by the cell's number.
        known: Outcomes of all cells so far.
    """
    trainer, split = work.trainer, work.splits[next(iter(tuned))]
    fits = [work.splits[number].final(best.hparams) for number, best in tuned.items()]
    started = now(trainer.device)
    trained = trainer.train(trainer.method, split, fits, split.largest.final, RECORDED_UPDATES)
    seconds = (now(trainer.device) - started - trained.record.seconds) / len(fits)
    reported = with_elbos(trained.diagnostics(), trained, trainer.data, trainer.protocol.samples)
    reported = with_mixing(reported, trained)
    facts = dict(zip(tuned, _fit_facts(trained, reported, seconds), strict=True))
    return trained, [
        replace(outcome, fit=facts[number]) if number in facts else outcome for number, outcome in enumerate(known)
    ]


def scored(work: PreparedFits, trained: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
    """Score the final fits of cells `numbers`, and return the outcomes of all cells.

    Args:
        work: Fits, trainer and scorer of the job.
        trained: Final fits of the cells `numbers`.
        numbers: Numbers of the cells that are scored.
        known: Outcomes of all cells so far.
    """
    outcomes = list(known)
    of_stack = work.scorer.finals(trained, numbers, [known[number] for number in numbers])
    for number, outcome, traces in zip(numbers, of_stack, trained.training_diagnostics(), strict=True):
        tables = {"training": _training_table(traces)} if traces else {}
        outcomes[number] = replace(outcome, tables={**outcome.tables, **tables})
    return outcomes


def require_equal_sizes(assignment: Assignment) -> None:
    """Raise ValueError if the splits of an assignment have different numbers of training rows."""
    sizes = sorted({len(split.train) for split in assignment.splits})
    if len(sizes) > 1:
        raise ValueError(
            f"splits of {assignment.source.name} have {', '.join(map(str, sizes))} training rows and cannot be trained "
            "in lockstep; only those of tables may differ; give each a job of its own"
        )


def reported_of(trained: TrainedFits, reported: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Add diagnostics of convergence, such as `still_improving`, to the diagnostics `reported` of each fit."""
    n_updates, traces = trained.schedule.plan.n_updates, trained.training_diagnostics()
    return [
        values | convergence(of_fit, n_updates, len(fit.rows))
        for values, of_fit, fit in zip(reported, traces, trained.fits, strict=True)
    ]


def _fit_facts(trained: TrainedFits, reported: Sequence[dict[str, float]], seconds: float) -> list[FitFacts]:
    return [
        FitFacts(
            fit_seconds=seconds,
            n_weights=trained.n_weights,
            n_parameters=trained.n_parameters,
            execution=trained.execution,
            diagnostics=json.dumps({name: value if isfinite(value) else None for name, value in measured.items()}),
        )
        for measured in reported_of(trained, reported)
    ]


def _tuning_facts(best: Tuned, objective: str) -> TuningFacts:
    return TuningFacts(
        hparams=json.dumps(best.hparams),
        n_trials=best.n_trials,
        n_trials_failed=best.n_failed,
        tune_seconds=best.seconds,
        **{objective: best.score},
    )


def _training_table(traces: Mapping[str, Trace]) -> pa.Table:
    """Return the diagnostics recorded during a fit's training as a table of the schema `TRAINING`."""
    rows = [
        {"update": update, "name": name, "value": value}
        for name, trace in traces.items()
        for update, value in zip(trace.updates.tolist(), trace.values.tolist(), strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=TRAINING)
