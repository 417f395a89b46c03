"""Results folders with many made-up rows, to measure the time and memory of reading, ranking and printing them.

Nothing is trained. Rows have every column that a real result has: metrics of regression or classification, chosen
hyper-parameters, search space, diagnostics and provenance. One result in a hundred is a failure with a traceback.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lockstep_bench import methods
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.parquet_with_digest import sealed
from lockstep_bench.shared.schema import CLASSIFICATION, COSTS, REGRESSION, SCHEMA_VERSION, TIMES, cell_key

SUITE, PRESET, FAILED = "uci", "made-up", 0.01
PROTOCOL = Protocol()
HYPER_PARAMETERS = ("lr", "prior_precision", "noise_precision")
SPACE = {
    name: {"name": "FloatDistribution", "attributes": {"step": None, "low": 1e-5, "high": 10.0, "log": True}}
    for name in HYPER_PARAMETERS
}
VERSIONS = {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "optuna": "5.0.0", "scikit-learn": "1.9.1"}
AS_STORED = {"compression": "none", "store_schema": False, "use_dictionary": False, "write_statistics": False}
FRAMES = '  File "methods/training/steps.py", line {}, in update\n    return advance(state, gradient)\n'


class Size(NamedTuple):
    """Size of a made-up leaderboard: numbers of methods, data sets and splits."""

    methods: int = 200
    datasets: int = 25
    splits: int = 20

    @property
    def n_rows(self) -> int:
        """Number of rows: methods x data sets x splits."""
        return self.methods * self.datasets * self.splits


def size_of(n_rows: int) -> Size:
    """Return the size of a leaderboard with at least `n_rows` rows; only the number of methods depends on `n_rows`."""
    whole = Size()
    return whole._replace(methods=max(1, -(-n_rows // (whole.datasets * whole.splits))))


def names_of_methods(count: int) -> list[str]:
    """Return `count` names of methods: all registered ones first, then variants of them."""
    plain = methods.names()
    return [name if not turn else f"{name}(width={turn})" for turn in range(count) for name in plain][:count]


def table(size: Size, seed: int = 0) -> pa.Table:
    """Return made-up rows with the schema `shared.schema.CELLS`."""
    rng = np.random.default_rng(seed)
    return pa.concat_tables([_on_dataset(number, size, rng) for number in range(size.datasets)])


def write_published(folder: Path, size: Size, seed: int = 0) -> None:
    """Write made-up rows to a results folder in a single file, the form of published results."""
    (folder / "cells").mkdir(parents=True)
    (folder / "cells" / f"{SUITE}.parquet").write_bytes(sealed(table(size, seed), compression="zstd"))


def write_ten_more(folder: Path, size: Size, seed: int = 1) -> None:
    """Add ten rows in a file of their own: a further method on ten splits of the first data set."""
    rows = table(Size(methods=1, datasets=1, splits=min(10, size.splits)), seed)
    names = pa.array(["further"] * len(rows))
    rows = rows.set_column(CELLS.get_field_index("method"), CELLS.field("method"), names)
    (folder / "cells" / f"{SUITE}.ten.parquet").write_bytes(sealed(rows, compression="zstd"))


def write_separately(folder: Path, size: Size, seed: int = 0) -> None:
    """Write made-up rows to a results folder with one file per row, the form in which a run stores them."""
    rows = table(size, seed)
    for number, key in enumerate(_keys(rows)):
        path = folder / "cells" / f"{key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sealed(rows.slice(number, 1), **AS_STORED))


def _keys(rows: pa.Table) -> Iterator[str]:
    columns = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
    return (cell_key(*values) for values in zip(*(rows[name].to_pylist() for name in columns), strict=True))


def _on_dataset(number: int, size: Size, rng: np.random.Generator) -> pa.Table:
    names = names_of_methods(size.methods)
    n_rows, dataset = size.methods * size.splits, f"made-up-{number:02}"
    classes = number % 5 in (3, 4)  # two data sets of five
    level = rng.normal(size=(size.methods, 1)) + rng.normal(size=(1, size.splits))
    finished = rng.random(n_rows) >= FAILED
    values: dict[str, Any] = {
        "schema_version": np.full(n_rows, SCHEMA_VERSION),
        "suite": [SUITE] * n_rows,
        "dataset": [dataset] * n_rows,
        "task": ["multiclass" if classes else "regression"] * n_rows,
        "method": np.repeat(names, size.splits).tolist(),
        "split": np.tile(np.arange(size.splits), size.methods),
        "preset": [PRESET] * n_rows,
        "seed": np.zeros(n_rows, int),
        "protocol": [PROTOCOL.to_json()] * n_rows,
        "protocol_hash": [PROTOCOL.hash] * n_rows,
        "status": np.where(finished, "ok", "failed").tolist(),
        "error": [None if fine else _traceback(place) for place, fine in enumerate(finished)],
        "error_class": [None if fine else "RuntimeError" for fine in finished],
        "elapsed_seconds": rng.gamma(2.0, 10.0, n_rows),
        "exclusive": np.zeros(n_rows, bool),
        "execution": ["native"] * n_rows,
        "n_trials": np.full(n_rows, 30),
        "n_trials_failed": np.zeros(n_rows, int),
        "hparams": [json.dumps(dict(zip(HYPER_PARAMETERS, drawn, strict=True))) for drawn in rng.random((n_rows, 3))],
        "search_space": [json.dumps(SPACE)] * n_rows,
        "diagnostics": [json.dumps({"still_improving": bool(one)}) for one in rng.random(n_rows) < 0.2],
        "n_train": np.full(n_rows, 900),
        "n_test": np.full(n_rows, 100),
        "n_ood": np.zeros(n_rows, int),
        "code_revision": [_digest("code")[:40]] * n_rows,
        "code_dirty": np.zeros(n_rows, bool),
        "code_identity": [f"{_digest('shared')[:8]}-{_digest(name)[:8]}" for name in names for _ in range(size.splits)],
        "data_sha256": [_digest(dataset)] * n_rows,
        "split_sha256": [_digest(f"{dataset}{split}") for split in range(size.splits)] * size.methods,
        "versions": [json.dumps(VERSIONS)] * n_rows,
        "device": ["cpu"] * n_rows,
        "host": ["made-up"] * n_rows,
        "finished_at": [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=int(n)) for n in np.arange(n_rows)],
    }
    scores = ("nmll", "validation_nmll", *(CLASSIFICATION if classes else REGRESSION))
    for name in (*scores, *(cost for cost in COSTS if cost != "sgd_ratio")):
        drawn = np.exp(0.2 * (level.ravel() + 0.3 * rng.normal(size=n_rows)))
        drawn = drawn / (1 + drawn) if "coverage" in name else drawn
        values[name] = drawn if name in TIMES else np.where(finished, drawn, np.nan)
    columns = [
        pa.array(values[field.name], field.type, from_pandas=True)
        if field.name in values
        else pa.nulls(n_rows, field.type)
        for field in CELLS
    ]
    return pa.table(columns, schema=CELLS)


def _traceback(place: int) -> str:
    frames = "".join(FRAMES.format(line) for line in range(10, 20))
    return f"Traceback (most recent call last):\n{frames}RuntimeError: the matrix of cell {place} is singular"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
