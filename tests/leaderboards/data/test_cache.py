"""What was read before is not read again, and nothing else changes."""

import os

import joblib
import pandas as pd
import pytest

from leaderboards.data import cache
from leaderboards.data.results import read_results


@pytest.fixture
def filled(folder, monkeypatch):
    """A results folder of five cells that has been read once."""
    monkeypatch.setattr(cache, "WORTHWHILE", 3)
    out = folder(*({"split": s, "nmll": float(s)} for s in range(5)))
    read_results(out)
    return out


def files_read(monkeypatch) -> list[str]:
    """The names of the files that are opened from now on."""
    names, read = [], cache.read_files

    def noted(paths):
        names.extend(path.name for path in paths)
        return read(paths)

    monkeypatch.setattr(cache, "read_files", noted)
    return names


def test_the_second_reading_opens_no_cell_and_gives_the_same(filled, monkeypatch):
    (filled / cache.NAME).unlink()
    first = read_results(filled)
    opened = files_read(monkeypatch)
    second = read_results(filled)
    assert opened == []
    pd.testing.assert_frame_equal(second.cells, first.cells)


def test_new_changed_and_removed_files_are_seen(filled, monkeypatch):
    cells = filled / "cells"
    (cells / "cell0000.parquet").unlink()
    (cells / "cell0001.parquet").replace(cells / "cell0009.parquet")  # as if written again, with split 1
    os.utime(cells / "cell0002.parquet", ns=(1, 1))
    (cells / "odd.parquet").write_text("x")
    opened = files_read(monkeypatch)
    results = read_results(filled)
    assert opened == ["cell0002.parquet", "cell0009.parquet", "odd.parquet"]
    assert results.cells["split"].tolist() == [2, 3, 4, 1]  # in the order of file names
    assert [one.path for one in results.skipped] == ["cells/odd.parquet"]


def test_many_files_are_read_in_shares_as_if_in_one(folder, monkeypatch):
    out = folder(*({"split": s, "nmll": float(s)} for s in range(7)))
    (out / "cells" / "cell0003.parquet").write_text("x")
    (out / "cells" / "cell0006.parquet").write_text("x")
    whole = read_results(out)
    monkeypatch.setattr(cache, "SHARE", 2)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    shares, read = [], cache.read_files

    def noted(paths):
        shares.append(len(paths))
        return read(paths)

    monkeypatch.setattr(cache, "read_files", noted)
    with joblib.parallel_config(backend="threading"):
        parts = read_results(out)
    assert sorted(shares) == [2, 2, 3]
    assert parts.cells["split"].tolist() == [0, 1, 2, 4, 5]
    pd.testing.assert_frame_equal(parts.cells, whole.cells)
    assert parts.skipped == whole.skipped


def test_a_few_files_are_not_worth_a_cache(folder):
    out = folder({"nmll": 1.0})
    read_results(out)
    assert not (out / cache.NAME).exists()


@pytest.mark.parametrize("content", [b"", b"no parquet"])
def test_a_broken_cache_is_as_good_as_none(filled, content):
    (filled / cache.NAME).write_bytes(content)
    assert read_results(filled).cells["split"].tolist() == [0, 1, 2, 3, 4]


def test_a_cache_with_columns_of_another_version_is_as_good_as_none(filled, monkeypatch):
    path = filled / cache.NAME
    pd.read_parquet(path).drop(columns="nmll").to_parquet(path)
    opened = files_read(monkeypatch)
    assert len(read_results(filled).cells) == 5
    assert len(opened) == 5


def test_a_folder_that_cannot_be_written_to_is_read_all_the_same(filled, monkeypatch):
    (filled / cache.NAME).unlink()

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(cache.os, "replace", refuse)
    assert len(read_results(filled).cells) == 5
