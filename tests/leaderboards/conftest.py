"""A results folder as a run would leave it, made of cells that tests describe by what matters to them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.schema import SCHEMA_VERSION

PROTOCOL = {"epochs": 120, "batch_size": 10, "trials": 30, "folds": 5, "sampler": "random", "samples": 100}


def _row(**changes) -> dict:
    row = dict.fromkeys(CELLS.names) | {
        "schema_version": SCHEMA_VERSION,
        "suite": "uci",
        "dataset": "energy",
        "method": "vifa",
        "split": 0,
        "preset": "paper",
        "seed": 0,
        "protocol": json.dumps(PROTOCOL),
        "protocol_hash": "aaaaaaaa",
        "status": "ok",
        "code_revision": "0123456789abcdef",
        "code_dirty": False,
        "data_sha256": "d1",
        "n_train": 90,
        "n_test": 10,
        "execution": "native",
        "versions": json.dumps({"python": "3.11.9", "torch": "2.6.0"}),
        "device": "cpu",
        "host": "bench-1",
        "finished_at": datetime(2026, 1, 2, tzinfo=UTC),
    }
    unknown = changes.keys() - row.keys()
    assert not unknown, f"no such columns: {unknown}"
    return row | changes


@pytest.fixture(scope="session")
def row():
    """One cell as a dictionary: a finished one, but for the columns given."""
    return _row


@pytest.fixture
def cells():
    """Cells as a reader of results gets them, from dictionaries of what matters."""

    def make(*rows: dict) -> pd.DataFrame:
        return pa.Table.from_pylist([_row(**row) for row in rows], schema=CELLS).to_pandas()

    return make


def _writer(out: Path):
    (out / "cells").mkdir(parents=True)

    def write(*rows: dict) -> Path:
        for row in rows:
            path = out / "cells" / f"cell{len(list((out / 'cells').iterdir())):04}.parquet"
            pq.write_table(pa.Table.from_pylist([_row(**row)], schema=CELLS), path)
        return out

    return write


@pytest.fixture
def folder(tmp_path):
    """Write cells to a results folder, a file each, and return the folder."""
    return _writer(tmp_path / "results")


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """The same, in a folder that is a new one at each call and that several tests may read."""
    return lambda *rows: _writer(tmp_path_factory.mktemp("shared") / "results")(*rows)


@pytest.fixture(scope="session")
def classification_run():
    """Two methods on 3 splits of digits-ood and of wdbc, which has two classes and no OOD rows."""
    rows = []
    for split in range(3):
        for method, nmll in (("vifa", 0.3), ("map", 0.4)):
            row = {"suite": "classification", "method": method, "split": split, "nmll": nmll + 0.01 * split}
            row |= {"accuracy": 0.9, "brier": 0.2, "ece": 0.05, "ece_low": 0.04, "ece_high": 0.08, "entropy": 0.5}
            rows.append(row | {"dataset": "digits-ood", "task": "multiclass", "ood_auroc": 0.8, "ood_fpr95": 0.4})
            rows.append(row | {"dataset": "wdbc", "task": "binary", "auroc": 0.97})
    return rows


@pytest.fixture(scope="session")
def small_run():
    """Three methods on 8 splits of energy; mfvi lost two of them; on wine one method, which is infinitely bad once."""
    rng = np.random.default_rng(1)
    rows = []
    for split in range(8):
        hard = rng.normal()
        for method, level in (("vifa", 2.5), ("mfvi", 2.6), ("map", 3.0)):
            nmll = level + 0.1 * hard + 0.01 * rng.normal()
            rows.append({"method": method, "split": split, "nmll": nmll, "rmse": nmll + 1, "coverage_90": 0.9})
        rows.append({"dataset": "wine", "split": split, "nmll": np.inf if split == 3 else 1.0 + 0.1 * hard})
    for row in rows:
        if row.get("method") == "mfvi" and row["split"] in (2, 5):
            row |= {"status": "diverged", "error": "all trials left the finite numbers"}
            row |= dict.fromkeys(("nmll", "rmse", "coverage_90"))
    return rows
