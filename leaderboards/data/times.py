"""Uncontended times: those of runs that had their device to themselves."""

import numpy as np
import pandas as pd

from lockstep_bench.shared.schema import TIMES

MOST_NAMED = 6  # methods in a sentence
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


def seconds_as_run(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of tuning and of the final fit of each cell as its run measured them, other load included.

    A cell has its share of the seconds of its job, so that sums over cells count no second twice.

    Args:
        cells: rows of `Leaderboard.cells`.
        rows: `Leaderboard.rows`, which `cells` come from.

    Returns:
        Columns `tune_seconds` (0 where nothing was tuned) and `fit_seconds`, with the index of `cells`. Both are null
        for cells without a final fit.
    """
    names, cell = ["tune_seconds", "fit_seconds"], [*PROTOCOL, "split", "seed", "finished_at"]
    if len(cells) == len(rows):  # all rows are used, in their order
        found = rows[names].set_axis(cells.index)
    else:
        unique = rows[[*cell, *names]].drop_duplicates(cell)
        found = cells[cell].merge(unique, "left", cell)[names].set_axis(cells.index)
    return found.assign(tune_seconds=found["tune_seconds"].fillna(0.0).where(found["fit_seconds"].notna()))


def about_times(summary: pd.DataFrame) -> str:
    """Return a sentence on how the times in a summary of results were measured, and which methods have none."""
    timed = set(summary.loc[summary["metric"].isin(TIMES) & (summary["n"] > 0), "method"])
    untimed = sorted(set(summary.loc[summary["n"] > 0, "method"]) - timed)
    sentence = "Times are those of one cell alone on a device that did nothing else." if timed else ""
    if not untimed:
        return sentence
    more = f" and {len(untimed) - MOST_NAMED} more" if len(untimed) > MOST_NAMED else ""
    who = f" of {', '.join(untimed[:MOST_NAMED])}{more}" if timed else ""
    return f"{sentence} No times{who}: they ran beside other cells; `run_all.py --timing` repeats one alone.".strip()
