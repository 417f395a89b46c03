"""The UCI regression data sets with one split per feature, which tests on a gap or on the tails of the feature.

- `yacht-gap` and so on: the 83 splits of Foong et al. (2019), which test on the middle third of the rows sorted by a
  feature. The splits are read from the files of github.com/cambridge-mlg/DUN at one commit; `uci_gap.tsv` lists their
  sizes and checksums. Sorting again would not reproduce them, because the order of equal values is unknown.
- `yacht-tail` and so on: the splits test on the lowest and the highest sixth of the rows
  (`datasets.splits.tail_split`). Equal values of feature k are in the order of the permutation seeded by [TAIL_SEED,
  k].

A discrete feature can have the same value on both sides of a boundary, so that there is no real gap or tail. A split is
flagged if more than the fraction `MOST_SHARED` of its training rows have a value within the range of the test part
(`share_among_test`). Flagged splits are neither run by default nor ranked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from lockstep_bench.datasets.records import Arrays, File, Source, Split
from lockstep_bench.datasets.splits import tail_split
from lockstep_bench.datasets.tabular import uci

COMMIT = "4fc85182f911d48c0de8b71f901866f42f7955e4"
PUBLISHED = f"cambridge-mlg/DUN/{COMMIT}/experiments/data/UCI_for_sharing/gap"
SERVER = "https://raw.githubusercontent.com/"
GAPS = 'Foong et al. 2019, "In-Between" Uncertainty in Bayesian Neural Networks'
TAIL_SEED = 2019

MOST_SHARED = 0.25
# What the rule says of the files; a set whose rows say something else is not loaded.
NO_REAL_GAP = {
    "boston": (1, 2, 3, 8, 10),
    "concrete": (1, 2, 4),
    "energy": (3, 4, 6, 7),
    "naval": (8, 11),
    "yacht": (4,),
}
NO_REAL_TAIL = {"boston": (1, 2, 3, 8, 10), "concrete": (1, 2, 4), "energy": (3, 4, 6), "naval": (8, 11)}


def share_among_test(values: np.ndarray, split: Split, scheme: str) -> float:
    """Return the fraction of training rows whose value lies in the test part's range, or in the range of one test tail.

    Args:
        values: (N,), the value of the split's feature in each row.
        split: the split.
        scheme: "gaps", or "tails" for a test part whose first half is the lower tail.
    """
    train = values[split.train]
    parts = np.split(values[split.test], 2) if scheme == "tails" else [values[split.test]]
    return float(np.mean(np.any([(part.min() <= train) & (train <= part.max()) for part in parts], axis=0)))


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of the nine data sets with gap splits, then of the nine with tail splits."""
    return (*map(_with_gaps, uci.sources()), *map(_with_tails, uci.sources()))


def _with_gaps(base: Source) -> Source:
    folder = f"uci_gap/{base.name}"
    return replace(
        _along_features(base, "gaps", "no real gap", NO_REAL_GAP.get(base.name, ())),
        name=f"{base.name}-gap",
        title=f"{base.title}, gaps",
        origin=f"{base.origin}; the splits: {GAPS}",
        licence=f"{base.licence}; the splits: MIT",
        suites=("uci-gap",),
        files=(*_table(base), *(file for file in _split_files() if file.path.startswith(f"{folder}/"))),
    )


def _with_tails(base: Source) -> Source:
    return replace(
        _along_features(base, "tails", "no real tail", NO_REAL_TAIL.get(base.name, ())),
        name=f"{base.name}-tail",
        title=f"{base.title}, tails",
        suites=("uci-tail",),
        files=_table(base),
    )


def _along_features(base: Source, scheme: str, flag: str, flagged: Sequence[int]) -> Source:
    return replace(
        base,
        n_splits=base.n_features,
        split_scheme=scheme,
        rows_of=base.name,
        flagged=dict.fromkeys(flagged, flag),
        read=partial(_read, base.name, scheme, frozenset(flagged)),
        notes=(f"Rows, features and targets are those of {base.name}, whose notes hold here too.",),
        folder="",
        base_url=SERVER,
    )


def _read(name: str, scheme: str, flagged: frozenset[int], contents: Mapping[str, bytes]) -> Arrays:
    """Return x, y and the splits; raise ValueError if other splits than `flagged` share values with their test part."""
    (rows,) = (path for path in contents if path.endswith("/data.txt"))
    x, y = uci.table(rows.removesuffix("/data.txt"), contents)
    features = range(x.shape[1])
    if scheme == "tails":
        splits = [tail_split(x[:, feature], feature, [TAIL_SEED, feature]) for feature in features]
    else:
        splits = [_published(f"uci_gap/{name}", feature, contents) for feature in features]
    sharing = {k for k in features if share_among_test(x[:, k], splits[k], scheme) > MOST_SHARED}
    if sharing != flagged:
        raise ValueError(f"splits {sorted(flagged)} should share values with their test part, got {sorted(sharing)}")
    return x, y, tuple(splits)


def _published(folder: str, feature: int, contents: Mapping[str, bytes]) -> Split:
    train, test = (uci.indices(contents[f"{folder}/index_{part}_{feature}.txt"]) for part in ("train", "test"))
    return Split(train, test, feature=feature)


def _table(base: Source) -> tuple[File, ...]:
    """Return the files of the rows, in the folder of the base set."""
    address = base.base_url.removeprefix(SERVER)
    tables = [file for file in base.files if file.path.rpartition("/")[2] in uci.TABLE]
    return tuple(file._replace(path=f"{base.folder}/{file.path}", address=address + file.path) for file in tables)


@cache
def _split_files() -> tuple[File, ...]:
    """Return the pinned files of the gap splits."""
    lines = Path(__file__).with_name("uci_gap.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return tuple(
        File(path, int(size), sha256, address=f"{PUBLISHED}/{name}/data/{file}")
        for path, size, sha256 in rows
        for _, name, file in [path.split("/")]
    )
