"""Uncontended times: those of runs that had their device to themselves."""

import numpy as np
import pandas as pd

from lockstep_bench.shared.schema import TIMES

PROTOCOL = ["suite", "dataset", "method", "preset", "protocol_hash"]  # what shares a row of timings


def latest_timings(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the latest of the timings of each method on a data set under a protocol."""
    return timings.sort_values("finished_at", kind="stable").drop_duplicates(PROTOCOL, keep="last", ignore_index=True)


def with_exclusive_times(cells: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the results without times that other work on the device may have lengthened, and with `total_seconds`.

    A method's times on a data set are those of the one cell that was repeated alone on its device, if `timings`
    (columns `shared.schema.TIMINGS`) has one; the row of that cell then holds them, and its other rows have none.
    Otherwise the times are those of rows with a true column `exclusive`, which had the device to themselves. All other
    times become null.

    `total_seconds` is the time of tuning, if anything was tuned, plus that of the final fit.
    """
    times, cell = list(TIMES), [*PROTOCOL, "split", "seed"]
    repeated = pd.MultiIndex.from_frame(cells[PROTOCOL]).isin(pd.MultiIndex.from_frame(timings[PROTOCOL]))
    uncontended = np.where(cells[["exclusive"]].eq(True), cells[times], np.nan)
    values = np.where(repeated[:, None], cells[cell].merge(timings, "left", cell)[times], uncontended)
    known = cells.assign(**pd.DataFrame(values, cells.index, times))
    total = known["tune_seconds"].fillna(0.0) + known["fit_seconds"]
    return pd.concat([known, total.rename("total_seconds")], axis=1)


def about_times(summary: pd.DataFrame) -> str:
    """Return a sentence on how the times in a summary of results were measured, and which methods have none."""
    timed = set(summary.loc[summary["metric"].isin(TIMES) & (summary["n"] > 0), "method"])
    untimed = sorted(set(summary.loc[summary["n"] > 0, "method"]) - timed)
    sentence = "Times are those of one cell alone on a device that did nothing else." if timed else ""
    if not untimed:
        return sentence
    who = f" of {', '.join(untimed)}" if timed else ""
    return f"{sentence} No times{who}: they ran beside other cells; run_all.py --timing repeats one alone.".strip()
