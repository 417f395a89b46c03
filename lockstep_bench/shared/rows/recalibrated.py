"""Rows of OUT/recalibrated: the scores of a cell after recalibration by one number, beside those before it.

`bench.evaluation.recalibration` writes a file for each cell, named as the cell's; pages show the scores as further
columns of the cell.
"""

from pathlib import Path

import pyarrow as pa

from lockstep_bench.shared.columns import CELLS, METRICS
from lockstep_bench.shared.rows.reader import Rows, read_folder
from lockstep_bench.shared.rows.rows_cache import KEY
from lockstep_bench.shared.schema import CLASSIFICATION, REGRESSION

FOLDER = "recalibrated"
SUFFIX = "_recalibrated"
FACTOR = "recalibration_factor"
BY_SAMPLES = ("mutual_information", "disagreement")  # which the average of the samples has not
SCORES = ("nmll", *REGRESSION, *(name for name in CLASSIFICATION if name not in BY_SAMPLES))

# Scores that the means, the most probable class or the order of the points alone decide.
UNCHANGED = (
    *("rmse", "rmse_standardised", "aurc_squared_error", "augrc_squared_error"),
    *("accuracy", "auroc", "precision", "recall", "f1"),
)

# What pages show, by the name of the column.
SHOWN = {
    FACTOR: "factor on the predictive standard deviation, or temperature of a classification, with the least NMLL on "
    "held-out training rows: below 1, predictions are too wide",
    **{
        f"{name}{SUFFIX}": f"{METRICS[name]}; after recalibration by one number"
        for name in SCORES
        if name not in UNCHANGED
    },
}

RECALIBRATED = pa.schema(
    [
        CELLS.field("schema_version"),
        *(CELLS.field(name) for name in KEY),
        pa.field(FACTOR, pa.float64(), nullable=False),
        pa.field("n_held_out", pa.int64(), nullable=False),  # rows that the factor was fitted to, of all folds
        *(pa.field(f"{name}{suffix}", pa.float64()) for name in SCORES for suffix in ("", SUFFIX)),
        CELLS.field("finished_at"),  # of the cell
    ]
)


def read_recalibrated(out: Path) -> Rows:
    """Return the rows under OUT/recalibrated, of the schema `RECALIBRATED`, for the results folder `out`."""
    return read_folder(out / FOLDER, RECALIBRATED)
