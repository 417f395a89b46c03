"""Scores after recalibration as further columns of the cells that they belong to."""

import pandas as pd

from lockstep_bench.shared.rows.recalibrated import RECALIBRATED, SHOWN
from lockstep_bench.shared.rows.rows_cache import KEY

NONE_RECALIBRATED = RECALIBRATED.empty_table().to_pandas()


def with_recalibration(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the results with those columns of `shared.rows.recalibrated.SHOWN` that some recalibrated cell has.

    A recalibration belongs to a result of the same key and NMLL, so that a cell that was run again does not have the
    scores of an earlier run.

    Args:
        cells: columns of `shared.schema.CELLS`.
        rows: columns of `shared.rows.recalibrated.RECALIBRATED`.
    """
    shown = [name for name in SHOWN if rows[name].notna().any()]
    if not shown:
        return cells
    keys = [*KEY, "nmll"]
    values = rows.drop_duplicates(keys, keep="last")[[*keys, *shown]]
    return cells.merge(values, "left", keys).set_axis(cells.index)
