"""The summary of all results, of which a build computes only the data sets that have changed since the last build."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lockstep_bench.leaderboards.site.kept import KEY, digest_of
from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.leaderboards.stats.summary import GROUP, Moments, in_order, per_split, summarise
from lockstep_bench.shared.rows.encoded import as_frame, distinct


class Summaries(NamedTuple):
    """Summary of all results.

    Attributes:
        table: result of `stats.summary.summarise`.
        splits: result of `stats.summary.per_split`, for those data sets whose summary was computed.
        kept: `table` for the next build, columns `KEY` and those of `Moments`; None if nothing is kept.
    """

    table: pd.DataFrame
    splits: pd.DataFrame
    kept: pa.Table | None = None


def summaries(cells: pd.DataFrame) -> Summaries:
    """Return the summary of result rows with labelled presets."""
    splits = per_split(cells)
    return Summaries(summarise(cells, splits), splits)


def summaries_again(cells: pd.DataFrame, digests: Mapping[str, bytes], known: pa.Table) -> Summaries:
    """Return the same as `summaries`, with the summaries of data sets that have not changed taken from `known`.

    The summary of a data set depends on its rows and on how its splits were made, and on no other data set.

    Args:
        cells: result rows with labelled presets, whose columns `GROUP` are categories.
        digests: digest of the rows of each data set.
        known: `Summaries.kept` of an earlier build by the same code.
    """
    keys = {name: digest_of(splits_of(name), digest) for name, digest in digests.items()}
    known = known.filter(pc.is_in(known[KEY], pa.array(keys.values(), pa.string())))
    unchanged = set(distinct(known[KEY]))
    computed = summaries(cells[cells["dataset"].isin([name for name in keys if keys[name] not in unchanged])])
    table = computed.table
    if len(known):
        taken = as_frame(known.drop(KEY)).astype({name: cells[name].dtype for name in GROUP})
        table = in_order(pd.concat([part for part in (table, taken) if len(part)]))
    columns = {KEY: table["dataset"].map(keys)} | {name: table[name] for name in Moments._fields}
    return Summaries(table, computed.splits, pa.table({name: pa.array(column) for name, column in columns.items()}))
