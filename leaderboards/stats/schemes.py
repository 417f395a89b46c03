"""Split schemes from the registry of data sets: how splits were made, and which of them are flagged."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

SPLIT = ["dataset", "split"]


class Splits(NamedTuple):
    """Splits of a data set.

    Attributes:
        scheme: the way the splits were made (`datasets.records.SPLIT_SCHEMES`).
        along_features: whether each is along another feature. Such splits ask different questions, and predictions fail
            badly on some of them, so that their values are summarised by the median and the worst one.
        flagged: splits that are not ranked, and why.
        rows_of: the data set that has the same rows and other splits (`datasets.Source.rows_of`); "" for none.
    """

    scheme: str
    along_features: bool
    flagged: Mapping[int, str]
    rows_of: str


def splits_of(dataset: str) -> Splits:
    """Return what is known of the splits of a data set.

    A data set that is not registered on this machine is taken to be resampled. That is cautious where splits have rows
    of their own.
    """
    try:
        from lockstep_bench import datasets

        source = datasets.entry(dataset)
        return Splits(source.split_scheme, source.along_features, source.flagged, source.rows_of)
    except Exception:  # a plug-in may raise anything, and a machine that only publishes lacks what `datasets` imports
        return Splits("resampled", False, {}, "")


def without_flagged(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose split is not flagged (`datasets.Source.flagged`)."""
    flagged = {name: splits_of(name).flagged for name in cells["dataset"].unique()}
    if not any(flagged.values()):
        return cells
    return cells[[split not in flagged[name] for name, split in cells[SPLIT].itertuples(index=False)]]


def flagged_in_words(cells: pd.DataFrame) -> str:
    """Return a sentence for each reason why `without_flagged` leaves rows out; "" for none."""
    unflagged = without_flagged(cells)
    if len(unflagged) == len(cells):
        return ""
    left = cells.loc[cells.index.difference(unflagged.index), SPLIT].drop_duplicates()
    left = left.assign(reason=[splits_of(name).flagged[split] for name, split in left.itertuples(index=False)])
    sentences = []
    for reason, of_reason in left.groupby("reason"):
        sets = [f"{name} ({', '.join(map(str, sorted(part)))})" for name, part in of_reason.groupby("dataset")["split"]]
        sentences.append(f"Splits not ranked, because they have {reason}: {', '.join(sets)}.")
    return " ".join(sentences)
