"""Tables beside cells are read if they fit their schemas."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.leaderboards.data.details import CellId, details, gathered
from lockstep_bench.leaderboards.data.frames import records
from lockstep_bench.shared.schema import BANDS

BAND = pd.DataFrame(0.5, range(3), BANDS.names)


@pytest.fixture
def bands(cells, tmp_path):
    """Return a function that stores a table "bands" for each split of a method, and returns its cells."""

    def store(*tables):
        rows = cells(*({"method": "a", "split": split} for split in range(len(tables)))).assign(folder=str(tmp_path))
        for cell, table in zip(records(rows, CellId), tables, strict=True):
            path = cell.path("bands")
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({name: table[name].to_numpy() for name in table}), path)
        return rows

    return store


def test_tables_of_all_cells_are_concatenated(bands):
    runs = gathered("bands", bands(BAND, BAND.assign(sd=np.nan)))
    assert runs["split"].tolist() == [0, 0, 0, 1, 1, 1]
    assert runs["sd"].isna().tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize("wrong", [BAND.drop(columns="sd"), BAND.assign(sd="wide"), BAND.rename(columns={"sd": "SD"})])
def test_tables_with_wrong_columns_count_as_missing(bands, wrong):
    (table,) = details("bands", bands(wrong, BAND.assign(mean=2.0))).values()
    assert table["mean"].tolist() == [2.0] * 3


def test_named_pipe_counts_as_a_missing_table(bands):
    rows = bands(BAND)
    (path,) = (cell.path("bands") for cell in records(rows, CellId))
    path.unlink()
    os.mkfifo(path)
    assert details("bands", rows) == {}
