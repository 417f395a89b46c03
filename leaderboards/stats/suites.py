"""Several suites as one, for rankings over the data sets of all of them."""

from collections.abc import Sequence

import pandas as pd

from lockstep_bench.leaderboards.stats.schemes import SPLIT, without_flagged
from lockstep_bench.leaderboards.wording.formats import listed

JOINED = " + "  # between the names of suites in one
MOST_LISTED = 4


def as_one(cells: pd.DataFrame, suites: Sequence[str]) -> tuple[pd.DataFrame, str, list[str]]:
    """Return the rows of several suites under one name, that name, and notes; see `without_copies`."""
    rows, notes = without_copies(cells, suites)
    name = JOINED.join(suites)
    return rows.assign(suite=name) if len(suites) > 1 else rows, name, notes


def without_copies(cells: pd.DataFrame, suites: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of several suites with one of the data sets made from the same rows, and a note on the others.

    The data set is the unit of verdicts over data sets, and two versions of one are no independent evidence. Of several
    versions, that of the first suite is kept. Splits flagged as not to be ranked are left out before. Rows of a single
    suite are returned as they are, beside those of other suites.

    Args:
        cells: columns of `shared.schema.CELLS`.
        suites: names of the suites, in order.
    """
    if len(suites) < 2:
        return cells, []
    places = {suite: place for place, suite in enumerate(suites)}
    ranked = without_flagged(cells[cells["suite"].isin(places)])
    order = sorted(
        ranked[["suite", SPLIT[0]]].drop_duplicates().itertuples(index=False), key=lambda row: (places[row[0]], row[1])
    )
    kept: dict[str, str] = {}
    left = []
    for _, dataset in order:
        first = kept.setdefault(origin(dataset), dataset)
        if first != dataset:
            left.append(f"{dataset} ({first})")
    notes = [f"Left out, as another set has the same rows: {listed(left, MOST_LISTED)}."] if left else []
    return ranked[ranked[SPLIT[0]].isin(kept.values())], notes


def origin(dataset: str) -> str:
    """Return the data set whose rows a data set has, by `datasets.Source.rows_of` and `same_as`; itself if none."""
    from lockstep_bench import datasets

    seen = [dataset]
    while True:
        try:
            source = datasets.entry(seen[-1])
        except Exception:  # not registered on this machine, or a plug-in's own error
            return seen[-1]
        earlier = [source.rows_of] if source.rows_of else list(source.same_as[:1])
        if not earlier or earlier[0] in seen:
            return seen[-1]
        seen.append(earlier[0])
