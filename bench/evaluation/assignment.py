"""The assignment of an evaluation: which method is trained on which splits of which data set."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import torch
from optuna.distributions import BaseDistribution

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import SeededSplit
from lockstep_bench.bench.experiment.jobs import STACK_ROWS, Job
from lockstep_bench.bench.experiment.tasks import method_for, space_of, task_from
from lockstep_bench.bench.results.record import DataFacts
from lockstep_bench.datasets import Dataset, Source, Split, source_of_split
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.problem import Task
from lockstep_bench.shared.protocol import Protocol


@dataclass(frozen=True)
class Assignment:
    """A method (or an estimator of streams), and the splits of a data set on which it is trained side by side.

    The argument `place` of the functions below is the index of a split in `seeded`.

    Attributes:
        source: Description of the data set.
        dataset: Arrays and splits of the data set.
        suite: Name of the suite, which determines the network.
        method_name: Name of the method, or of the estimator.
        protocol: Budget of tuning and training.
        seeded: Numbers and seeds of the splits.
        device: The torch device that fits are trained on.
        data_dir: Data folder for further data sets, such as OOD data sets; None for the default.
        stack_rows: Largest number of networks that are trained together.
    """

    source: Source
    dataset: Dataset
    suite: str
    method_name: str
    protocol: Protocol
    seeded: tuple[SeededSplit, ...]
    device: torch.device
    data_dir: Path | None = None
    stack_rows: int = STACK_ROWS

    @classmethod
    def of(cls, job: Job, device: torch.device, loaded: tuple[Source, Dataset] | None = None) -> Self:
        """Return the assignment (method, data set and splits) of a job, whose cells differ only in their split.

        Args:
            job: The job.
            device: The torch device that fits are trained on.
            loaded: The description and the arrays of the data set, if it is not registered.
        """
        first = job.cells[0]
        source, dataset = loaded or (datasets.entry(first.dataset), datasets.load(first.dataset, job.data_dir))
        seeded = tuple(cell.seeded for cell in job.cells)
        return cls(
            source, dataset, first.suite, first.method, first.protocol, seeded, device, job.data_dir, job.stack_rows
        )

    @cached_property
    def splits(self) -> list[Split]:
        """The rows of each split."""
        return [self.dataset.splits[each.number] for each in self.seeded]

    @cached_property
    def tasks(self) -> list[Task]:
        """The task (likelihood and network) for each split."""
        return [
            task_from(source_of_split(self.source, self.dataset, each.number), self.suite, self.protocol)
            for each in self.seeded
        ]

    @cached_property
    def method(self) -> Method:
        """The method, adapted to the task."""
        return method_for(self.method_name, self.tasks[0])

    def space(self, place: int, without: Collection[str] = ()) -> dict[str, BaseDistribution]:
        """Return the search space of the method on a split, without the hyper-parameters in `without`."""
        whole = space_of(self.method, self.tasks[place], self.protocol)
        return {name: distribution for name, distribution in whole.items() if name not in without}

    def facts(self, place: int) -> DataFacts:
        """Return the numbers of rows and the checksums of a split, which are stored with its result."""
        split = self.splits[place]
        return DataFacts(
            task=self.source.task,
            n_train=len(split.train),
            n_test=len(split.test),
            n_ood=len(self.dataset.ood),
            data_sha256=self.dataset.data_sha256,
            split_sha256=self.dataset.split_sha256[self.seeded[place].number],
        )

    def name(self, place: int) -> str:
        """Return the name of split `seeded[place]` that files of reference posteriors have: "yacht-split03"."""
        return f"{self.source.name}-split{self.seeded[place].number:02d}"
