"""How the splits of a data set were made, and which are not ranked, from the registry of data sets."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

SPLIT = ["dataset", "split"]
NOT_RANKED = "Splits not ranked: "  # how the sentence on flagged splits begins


class Splits(NamedTuple):
    """Facts about the splits of a data set.

    Attributes:
        scheme: the way the splits were made (`datasets.records.SPLIT_SCHEMES`).
        along_features: whether each split tests on a range of values of another feature that training leaves out. Such
            splits differ in difficulty, and predictions fail badly on some of them, so that results are summarised by
            the median and the worst split.
        flagged: splits that are excluded from rankings ("flagged"), with the reason.
        rows_of: the data set that has the same rows and other splits (`datasets.Source.rows_of`); "" for none.
    """

    scheme: str
    along_features: bool
    flagged: Mapping[int, str]
    rows_of: str


def splits_of(dataset: str) -> Splits:
    """Return how the splits of a data set were made.

    The splits of a data set that is not registered on this machine are taken to be resampled, with shared rows. This is
    conservative if they share none.
    """
    try:
        from lockstep_bench import datasets

        source = datasets.entry(dataset)
        return Splits(source.split_scheme, source.along_features, source.flagged, source.rows_of)
    except Exception:  # a plug-in may raise anything, and a machine that only publishes lacks what `datasets` imports
        return Splits("resampled", False, {}, "")


def without_flagged(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the result rows without those of splits flagged as not to be ranked."""
    flagged = flagged_rows(cells)
    return cells[~flagged] if flagged.any() else cells


def flagged_rows(cells: pd.DataFrame) -> np.ndarray:
    """Return for each result row whether its split is flagged as not to be ranked (`datasets.Source.flagged`)."""
    flagged = {name: splits_of(name).flagged for name in cells["dataset"].unique()}
    if not any(flagged.values()):
        return np.zeros(len(cells), bool)
    pairs = zip(cells["dataset"].tolist(), cells["split"].tolist(), strict=True)
    return np.array([split in flagged[name] for name, split in pairs], bool)


def flagged_in_words(cells: pd.DataFrame) -> str:
    """Return a sentence on which splits `without_flagged` leaves out, and why; "" if none are left out."""
    unflagged = without_flagged(cells)
    if len(unflagged) == len(cells):
        return ""
    left = cells.loc[cells.index.difference(unflagged.index), SPLIT].drop_duplicates()
    left = left.assign(reason=[splits_of(name).flagged[split] for name, split in left.itertuples(index=False)])
    parts = []
    for reason, of_reason in left.groupby("reason"):
        sets = [f"{name} ({', '.join(map(str, sorted(part)))})" for name, part in of_reason.groupby("dataset")["split"]]
        parts.append(f"{', '.join(sets)}, with {reason}")
    return f"{NOT_RANKED}{'; '.join(parts)}."
