"""Uncontended times: those of cells that had their device to themselves."""

import numpy as np
import pandas as pd

from lockstep_bench.shared.schema import TIMES

PROTOCOL = ["suite", "dataset", "method", "preset", "protocol_hash"]  # what shares a row of timings


def latest_timings(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the timing that was finished last, for each method on a data set under a protocol."""
    return timings.sort_values("finished_at", kind="stable").drop_duplicates(PROTOCOL, keep="last", ignore_index=True)


def with_exclusive_times(cells: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return `cells` without the times that other work on the device may have lengthened, and with `total_seconds`.

    A method's times on a data set are those of its cell that was repeated alone, if `timings` (columns of
    `shared.schema.TIMINGS`) has one; the row of that cell holds them. Otherwise they are those of its rows that are
    `exclusive`. All other times become null, also those of older schemas, which do not record `exclusive`.

    The total is that of tuning, where anything was tuned, and of the final fit.
    """
    times, cell = list(TIMES), [*PROTOCOL, "split", "seed"]
    repeated = pd.MultiIndex.from_frame(cells[PROTOCOL]).isin(pd.MultiIndex.from_frame(timings[PROTOCOL]))
    uncontended = np.where(cells[["exclusive"]].eq(True), cells[times], np.nan)
    values = np.where(repeated[:, None], cells[cell].merge(timings, "left", cell)[times], uncontended)
    known = cells.assign(**pd.DataFrame(values, cells.index, times))
    total = known["tune_seconds"].fillna(0.0) + known["fit_seconds"]
    return pd.concat([known, total.rename("total_seconds")], axis=1)


def about_times(summary: pd.DataFrame) -> str:
    """Return a sentence on the times of a board of `summary`, and on finished methods without times."""
    timed = set(summary.loc[summary["metric"].isin(TIMES) & (summary["n"] > 0), "method"])
    untimed = sorted(set(summary.loc[summary["n"] > 0, "method"]) - timed)
    sentence = "Times are those of one cell alone on a device that did nothing else." if timed else ""
    if not untimed:
        return sentence
    who = f" of {', '.join(untimed)}" if timed else ""
    return f"{sentence} No times{who}: measured beside other cells only, until run_all.py --timing repeats one.".strip()
