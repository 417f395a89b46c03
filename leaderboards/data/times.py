"""Uncontended times: those of cells that had their device to themselves."""

import numpy as np
import pandas as pd

from bench.schema import TIMES

PROTOCOL = ["suite", "dataset", "method", "preset", "protocol_hash"]  # what shares a row of timings


def latest_timings(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the timing that was finished last, for each method on a data set under a protocol."""
    return timings.sort_values("finished_at", kind="stable").drop_duplicates(PROTOCOL, keep="last", ignore_index=True)


def with_exclusive_times(cells: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return `cells` without the times that other work on the device may have lengthened.

    A method's times on a data set are those of its cell that was repeated alone, if `timings` (columns of
    `bench.schema.TIMINGS`) has one: they stand in the row of that cell. Else they are those of its rows that are
    `exclusive`. All others become null, and so do those of older schemas, which do not know.
    """
    times, cell = list(TIMES), [*PROTOCOL, "split", "seed"]
    repeated = pd.MultiIndex.from_frame(cells[PROTOCOL]).isin(pd.MultiIndex.from_frame(timings[PROTOCOL]))
    own = np.where(cells[["exclusive"]].eq(True), cells[times], np.nan)
    found = np.where(repeated[:, None], cells[cell].merge(timings, "left", cell)[times], own)
    return cells.assign(**pd.DataFrame(found, cells.index, times))


def about_times(summary: pd.DataFrame) -> str:
    """Return a sentence on the times of a board of `summary`, and on finished methods without times."""
    timed = set(summary.loc[summary["metric"].isin(TIMES) & (summary["n"] > 0), "method"])
    untimed = sorted(set(summary.loc[summary["n"] > 0, "method"]) - timed)
    told = "Times are those of one cell alone on a device that did nothing else." if timed else ""
    if not untimed:
        return told
    who = f" of {', '.join(untimed)}" if timed else ""
    return f"{told} No times{who}: measured beside other cells only, until run_all.py --timing repeats one.".strip()
