"""Nested subsamples of ten regressions, for scores against the number of training rows.

The data set `protein-n200` has the rows, inputs and test parts of `protein`. The training rows of its split k are the
first 200 of the training rows of split k of `protein`, in the order of the permutation seeded by [SEED, k]. Those of
`protein-n50` are therefore among them, and the test rows are the same at all sizes.

The ten sets have at least 5,000 training rows and no flag of the data audit; of keggdirected, it is the version without
copies of training rows among the test rows.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np

from lockstep_bench.datasets.records import Arrays, Reader, Source, Split
from lockstep_bench.datasets.splits import permutation
from lockstep_bench.datasets.tabular import uci, uci_gp

SUITE = "learning-curves"
SETS = (
    *("kin8nm", "naval", "power", "protein"),
    *("gp-pumadyn32nm", "gp-pol", "gp-elevators", "gp-bike", "gp-kin40k", "gp-keggdirected-grouped"),
)
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
MOST_SPLITS = 10
SEED = 5000  # any fixed number would do


def read(base: Reader, size: int, contents: Mapping[str, bytes]) -> Arrays:
    """Return x (N, P) and y (N,) of a data set, and its first splits with `size` training rows each.

    Args:
        base: reader of the whole data set.
        size: number of training rows.
        contents: verified contents of the files of the whole data set.
    """
    x, y, splits = base(contents)[:3]  # type: ignore[arg-type]
    return x, y, tuple(subsampled(split, size, number) for number, split in enumerate(splits[:MOST_SPLITS]))


def subsampled(split: Split, size: int, number: int) -> Split:
    """Return a split with the first `size` of its training rows, in a random order that does not depend on `size`.

    Args:
        split: the whole split.
        size: number of training rows that are kept.
        number: number of the split, which is part of the seed.
    """
    order = permutation(len(split.train), [SEED, number])
    return replace(split, train=np.sort(split.train[order[:size]]))


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the data sets, those of one set together, the smallest first."""
    every = {source.name: source for source in (*uci.sources(), *uci_gp.sources())}
    return tuple(_source(every[name], size) for name in SETS for size in SIZES)


def _source(base: Source, size: int) -> Source:
    return replace(
        base,
        name=f"{base.name}-n{size}",
        title=f"{base.title}, {size:,} training rows",
        n_splits=min(base.n_splits, MOST_SPLITS),
        read=partial(read, base.read, size),
        suites=(SUITE,),
        rows_of=base.name,
        notes=(
            f"Rows, inputs, targets and test rows are those of {base.name}, whose notes hold here too.",
            f"Each split trains on {size:,} of its training rows; those of smaller sizes are among them.",
        ),
    )
