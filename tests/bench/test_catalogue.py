"""The catalogue says what the files say, whatever becomes of them or of it."""

from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import catalogue
from bench.catalogue import COLUMNS, NAME, rows_in
from bench.schema import CELLS


def row(number: int, **changes) -> dict:
    same = {"schema_version": 3, "suite": "uci", "dataset": "yacht", "preset": "p", "seed": 0, "protocol": "{}"}
    same |= {"protocol_hash": "a", "status": "ok", "code_revision": "c", "versions": "{}", "device": "cpu", "host": "h"}
    same |= {"finished_at": datetime(2026, 1, 2, tzinfo=UTC)}
    return same | {"method": f"m{number}", "split": number, "fit_seconds": number / 3, "nmll": 1.0} | changes


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes cells; the catalogue is kept however few they are."""
    monkeypatch.setattr(catalogue, "WORTH_KEEPING", 1)

    def make(*rows: dict) -> None:
        for own in rows:
            path = tmp_path / "cells" / "uci" / f"{own['split']}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist([own], schema=CELLS), path)

    return make


def splits(folder) -> list[int]:
    return sorted(rows_in(folder)["split"])


def test_rows_are_those_of_the_files_at_the_first_look_and_at_the_second(write, tmp_path):
    write(*(row(number) for number in range(3)))
    first, second = (rows_in(tmp_path).sort_values("split", ignore_index=True) for _ in range(2))
    expected = pd.read_parquet(tmp_path / "cells").sort_values("split", ignore_index=True)[list(COLUMNS)]
    assert first["fit_seconds"].tolist() == expected["fit_seconds"].tolist() == [0.0, 1 / 3, 2 / 3]
    for table in (first, second):
        pd.testing.assert_frame_equal(table, expected, check_dtype=False)


def test_only_new_files_are_opened(write, tmp_path, monkeypatch):
    write(row(0), row(1))
    rows_in(tmp_path)
    write(row(2))
    opened, read = [], catalogue._read
    monkeypatch.setattr(catalogue, "_read", lambda paths: opened.extend(paths) or read(paths))
    assert splits(tmp_path) == [0, 1, 2]
    assert [path.rpartition("/")[2] for path in opened] == ["2.parquet"]


def test_what_is_deleted_or_changed_is_no_longer_told(write, tmp_path):
    write(row(0), row(1), row(2))
    rows_in(tmp_path)
    (tmp_path / "cells/uci/0.parquet").unlink()
    write(row(1, method="another-name"))
    assert sorted(rows_in(tmp_path)["method"]) == ["another-name", "m2"]


def test_files_that_are_no_rows_are_passed_over_and_not_opened_again(write, tmp_path, monkeypatch):
    write(row(0))
    folder = tmp_path / "cells" / "uci"
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    (folder / "_0.parquet.unreadable").write_bytes(b"")
    pq.write_table(pa.table({"split": ["words"]}), folder / "words.parquet")
    pq.write_table(pa.table({"colour": ["blue"]}), folder / "foreign.parquet")
    assert splits(tmp_path) == [0]
    monkeypatch.setattr(catalogue, "_read", lambda paths: pytest.fail("all was known"))
    assert splits(tmp_path) == [0]


@pytest.mark.parametrize("content", [b"", b"PAR1", None])
def test_a_catalogue_that_cannot_be_read_is_made_again(write, tmp_path, content):
    write(row(0))
    if content is None:
        pq.write_table(pa.table({"file": ["cells/uci/0.parquet"]}), tmp_path / NAME)
    else:
        (tmp_path / NAME).write_bytes(content)
    assert splits(tmp_path) == [0]
    assert pq.read_table(tmp_path / NAME)["split"].to_pylist() == [0]


def test_a_folder_that_may_not_be_written_to_can_be_read(write, tmp_path, monkeypatch):
    write(row(0))

    def fails(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(catalogue.os, "replace", fails)
    assert splits(tmp_path) == [0]


def test_nothing_is_left_behind_where_there_is_nothing(tmp_path):
    assert rows_in(tmp_path).empty
    assert list(tmp_path.iterdir()) == []
