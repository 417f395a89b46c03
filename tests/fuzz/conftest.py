"""Random attacks with a fixed budget.

The same examples are drawn at every run, so that a failure is the fault of the code and not of the draw. A longer
campaign draws others: `python -m pytest tests/fuzz --hypothesis-profile=long`.
"""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.rows.parquet_with_digest import sealed
from lockstep_bench.shared.schema import SCHEMA_VERSION

UNHURRIED = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("fixed", max_examples=30, derandomize=True, database=None, **UNHURRIED)
settings.register_profile("long", max_examples=3_000, print_blob=True, **UNHURRIED)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(config.getoption("--hypothesis-profile") or "fixed")


def cell_row(method: str, dataset: str, split: int) -> dict:
    """Return the row of a finished cell."""
    return dict.fromkeys(CELLS.names) | {
        "schema_version": SCHEMA_VERSION,
        "suite": "uci",
        "dataset": dataset,
        "method": method,
        "split": split,
        "preset": "tuned",
        "seed": 0,
        "protocol": "{}",
        "protocol_hash": "aaaaaaaa",
        "status": "ok",
        "task": "regression",
        "nmll": 1.5 + split,
        "rmse": 0.25 * (1 + split),
        "coverage_90": 0.9,
        "code_revision": "0123456789abcdef",
        "code_dirty": False,
        "data_sha256": "d1",
        "n_train": 90,
        "n_test": 10,
        "versions": "{}",
        "device": "cpu",
        "host": "bench-1",
        "finished_at": datetime(2026, 1, 2, tzinfo=UTC),
    }


@pytest.fixture(scope="session")
def row():
    """Makes the row of a finished cell."""
    return cell_row


@pytest.fixture(scope="session")
def file_of():
    """Makes the bytes of the file of some rows, as a run writes them."""

    def file_of(*rows: dict) -> bytes:
        options = {"compression": "none", "store_schema": False, "use_dictionary": False, "write_statistics": False}
        return sealed(pa.Table.from_pylist(list(rows), schema=CELLS), **options)

    return file_of
