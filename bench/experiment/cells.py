"""Cells: a cell is one method on one split of a data set under one protocol, and gives one row of results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockstep_bench import datasets
from lockstep_bench.datasets.synthetic.streams import StreamSource
from lockstep_bench.shared.method_names import registered
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import cell_key
from lockstep_bench.shared.seeds import seed_of

STREAM_DIM_OF_OVERHEAD = 275  # dimension at which a vector's arithmetic takes as long as its fixed overhead


class SeededSplit(NamedTuple):
    """A split of a data set, with the seeds for one method.

    Attributes:
        number: Number of the split in the data set.
        fit_seed: Seed of trials and fits; it does not depend on the options in a method's name.
        fold_seed: Seed of cross-validation folds, and of streams of vectors; it is the same for all methods.
    """

    number: int
    fit_seed: int
    fold_seed: int

    @classmethod
    def of(cls, seed: int, suite: str, dataset: str, method: str, number: int) -> "SeededSplit":
        """Return split `number` with seeds that follow from the run's seed, suite, data set and method."""
        fit_seed = seed_of(seed, suite, dataset, registered(method), number)
        return cls(number, fit_seed, seed_of(seed, suite, dataset, number, "folds"))


@dataclass(frozen=True)
class Cell:
    """A cell: one method on one split of one data set under one protocol.

    Attributes:
        suite, dataset, method: names.
        split: number of the data set's fixed split.
        preset: name of the preset that `protocol` started from, with "-modified" if anything was changed, and
            "-10s" for a budget of ten seconds.
        protocol: settings of tuning and training.
        seed: seed of the run. All random numbers follow from it and the other attributes.
    """

    suite: str
    dataset: str
    method: str
    split: int
    preset: str
    protocol: Protocol
    seed: int

    @property
    def key(self) -> str:
        """Relative path, without suffix, of the cell's files; it is unique to the cell."""
        return cell_key(self.suite, self.dataset, self.method, self.preset, self.protocol.hash, self.split, self.seed)

    @property
    def seeded(self) -> SeededSplit:
        """The cell's split, with its seeds."""
        return SeededSplit.of(self.seed, self.suite, self.dataset, self.method, self.split)

    @property
    def work(self) -> float:
        """Rough amount of work, in minibatches of one fit, or in vectors of a stream.

        Tuning counts as trials x folds fits; the final fit and its predictions count as 20 more.
        """
        source = datasets.entry(self.dataset)
        if isinstance(source, StreamSource):
            length = min(self.protocol.stream_length, source.max_length or self.protocol.stream_length)
            return length * (1 + source.n_features / STREAM_DIM_OF_OVERHEAD)
        rows = min(source.n_rows, self.protocol.max_train or source.n_rows)
        minibatches = self.protocol.epochs * rows / self.protocol.batch_size
        if self.protocol.max_minibatches:
            minibatches = min(minibatches, self.protocol.max_minibatches)
        if self.protocol.max_updates:
            minibatches = min(minibatches, self.protocol.max_updates)
        return minibatches * (self.protocol.trials * self.protocol.fits_per_trial + 20)


def cells_of(
    suite: str,
    names: Sequence[str],
    methods: Sequence[str],
    splits: Mapping[str, Sequence[int]],
    preset: str,
    protocol: Protocol,
    seed: int,
) -> list[Cell]:
    """Return the cells of every combination of data set, split and method, those with most work first.

    Args:
        suite: name of the suite.
        names: names of the data sets.
        methods: names of the methods.
        splits: split numbers of each data set.
        preset: name of the protocol.
        protocol: protocol of all cells.
        seed: seed of the run.
    """
    work = {name: Cell(suite, name, "", 0, preset, protocol, seed).work for name in names}  # the same for all methods
    return [
        Cell(suite, name, method, split, preset, protocol, seed)
        for name in sorted(names, key=lambda name: -work[name])
        for method in methods
        for split in splits[name]
    ]
