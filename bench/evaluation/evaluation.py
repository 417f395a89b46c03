"""The base class of evaluations, and the outcome of a cell that diverged.

The cells of a job differ only in their split. They are evaluated side by side.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.results.record import DataFacts, Outcome, class_name
from lockstep_bench.bench.tuning.tuner import Diverged
from lockstep_bench.datasets import Dataset, Source


class Evaluation(ABC):
    """One kind of evaluation, for the cells of a job.

    Cells are called by their number in the job.

    Args:
        job: The cells, and the paths of their data and studies.
        device: The torch device that fits are trained on.
        on_progress: Is called now and then with the progress of the job.
        loaded: The data set and its description, where it is not registered; by default the one that the cells name.

    Attributes:
        protocol: The protocol of all cells.
        source: The entry of the data set in the registry.
        dataset: The data set.
        splits: The split of each cell.
    """

    def __init__(
        self, job: Job, device: torch.device, on_progress: OnProgress, loaded: tuple[Source, Dataset] | None = None
    ):
        first = job.cells[0]
        self.job, self.cells, self.device, self.data_dir = job, job.cells, device, job.data_dir
        self.protocol = first.protocol
        self.source, self.dataset = loaded or (
            datasets.entry(first.dataset),
            datasets.load(first.dataset, job.data_dir),
        )
        self.splits = [self.dataset.splits[cell.split] for cell in job.cells]
        self._on_progress = on_progress

    @abstractmethod
    def run(self) -> Iterator[list[Outcome]]:
        """Yield the outcomes of all cells after each step, as far as they are known.

        Every outcome in the last list has a status. Earlier lists serve callers that record what was known before an
        exception.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Compute what all fits share, before any time is measured."""

    def data_facts(self, number: int) -> DataFacts:
        """Return the sizes and fingerprints of a cell's data."""
        cell, split = self.cells[number], self.splits[number]
        return DataFacts(
            task=self.source.task,
            n_train=len(split.train),
            n_test=len(split.test),
            n_ood=len(self.dataset.ood),
            data_sha256=self.dataset.data_sha256,
            split_sha256=self.dataset.split_sha256[cell.split],
        )

    def now(self) -> float:
        """Return the seconds of a clock, after the device has finished all work."""
        return now(self.device)


def diverged(known: Outcome, error: str, tables: Mapping[str, pa.Table] | None = None) -> Outcome:
    """Return the outcome of a cell whose fits have numbers that are not finite, absurd, or no distribution.

    Args:
        known: The outcome so far.
        error: The reason.
        tables: Tables to store nevertheless.
    """
    error_class = class_name(Diverged())
    return replace(known, status="diverged", error=error, error_class=error_class, tables=tables or {})
