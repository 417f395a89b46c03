"""A result file is read as it was written, or refused: never with other numbers."""

import random
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.parquet_with_digest import MARK, Damaged, sealed, unsealed
from lockstep_bench.shared.rows.reader import CellFiles

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)
KEPT = Path(__file__).resolve().parents[4] / "leaderboards" / "results" / "cells" / "toy.parquet"
TABLE = pa.table({"x": [1.5, None, float("nan")], "name": ["a", MARK.decode(), None], "many": [[1], [], [2, 3]]})


def same(read: pa.Table, written: pa.Table) -> bool:
    return str(read.to_pylist()) == str(written.to_pylist()) and read.schema.equals(written.schema)


@pytest.mark.parametrize("options", [{}, {"compression": "none", "use_dictionary": False, "write_statistics": False}])
def test_parquet_with_digest_is_read_unchanged(options):
    assert same(unsealed(sealed(TABLE, **options)), TABLE)


def test_other_programs_can_read_files_with_digest():
    assert same(pq.read_table(pa.BufferReader(sealed(TABLE))), TABLE)


@pytest.mark.parametrize("options", [{}, {"store_schema": False}])
def test_file_rewritten_by_another_program_is_read(tmp_path, options):
    """The copy may hold the digest of the file that it was made from."""
    table = TABLE.drop_columns("many")
    pq.write_table(pq.read_table(pa.BufferReader(sealed(table, **options))), tmp_path / "copy.parquet")
    assert same(unsealed((tmp_path / "copy.parquet").read_bytes()), table)


def test_same_table_gives_the_same_bytes():
    assert sealed(TABLE) == sealed(TABLE)


def test_parquet_file_without_digest_is_read(tmp_path):
    table = TABLE.drop_columns("name")
    pq.write_table(table, tmp_path / "old.parquet")
    assert same(unsealed((tmp_path / "old.parquet").read_bytes()), table)


@pytest.mark.parametrize("n_flips", [100, pytest.param(1500, marks=pytest.mark.slow)], ids=["few flips", "many flips"])
def test_file_with_flipped_bits_is_refused_or_unchanged(tmp_path, result_of, n_flips):
    results = Results(tmp_path)
    results.write(result_of(CELL, nmll=0.20498, n_test=31, diagnostics='{"a": 1}'))
    path = tmp_path / "cells" / f"{CELL.key}.parquet"
    intact, written = path.read_bytes(), CellFiles(tmp_path).table
    draws = random.Random(n_flips)
    refused = 0
    for _ in range(n_flips):
        place, bit = draws.randrange(len(intact)), draws.randrange(8)
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 1 << bit]) + intact[place + 1 :])
        files = CellFiles(tmp_path)
        if files.unreadable:
            assert list(files.unreadable) == [path]
            assert len(files.table) == 0
            refused += 1
        else:
            assert same(files.table, written)
    assert refused > 0.9 * n_flips


def test_flipped_bits_without_digest_crash_no_command():
    intact, draws = KEPT.read_bytes(), random.Random(0)
    for _ in range(100):
        place, bit = draws.randrange(len(intact)), draws.randrange(8)
        damaged = intact[:place] + bytes([intact[place] ^ 1 << bit]) + intact[place + 1 :]
        with suppress(Damaged):  # any other exception would end a command
            assert isinstance(unsealed(damaged), pa.Table)
