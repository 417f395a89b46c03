"""Rows that were read before are taken from the user's cache while nobody has touched their files."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows import checking, rows_cache
from lockstep_bench.shared.rows.reader import CellFiles

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)
OTHER = replace(CELL, split=4)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The cache folder, which is used from two files on."""
    monkeypatch.setenv("BENCH_ROWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(rows_cache, "WORTHWHILE", 2)
    monkeypatch.setattr(rows_cache, "SETTLED", 0)
    return tmp_path / "cache"


@pytest.fixture
def out(tmp_path, cache, result_of) -> Path:
    """A folder with two finished cells, which was read before."""
    results = Results(tmp_path / "out")
    results.write(result_of(CELL, nmll=1.0, kl=float("inf"), rmse=float("nan")))
    results.write(result_of(OTHER, nmll=2.0))
    wait_for_a_later_time(results.out)
    assert nmll(results.out) == [1.0, 2.0]
    return results.out


def wait_for_a_later_time(folder: Path) -> None:
    """Return when a further change is sure to be given a later time than those before."""
    probe, started = folder / "probe", folder.stat().st_ctime_ns
    while not probe.exists() or probe.stat().st_ctime_ns <= started:
        probe.write_text("")
    probe.unlink()


@pytest.fixture
def n_parsed(monkeypatch):
    """The number of files that each reading opens as Parquet."""
    numbers, read = [], checking.read_share

    def counted(paths, schema):
        numbers.append(len(paths))
        return read(paths, schema)

    monkeypatch.setattr(checking, "read_share", counted)
    return numbers


def nmll(out: Path, **options) -> list[float]:
    return CellFiles(out, **options).table["nmll"].to_pylist()


def file_of(out: Path, cell: Cell) -> Path:
    return out / "cells" / f"{cell.key}.parquet"


def test_cached_files_are_not_parsed_again(out, n_parsed):
    again = CellFiles(out).table.to_pandas()
    assert n_parsed == []
    pd.testing.assert_frame_equal(again, CellFiles(out, cached=False).table.to_pandas())
    assert n_parsed == [2]


def test_cache_writes_nothing_into_the_results_folder(out):
    assert sorted(path.name for path in out.iterdir()) == ["cells"]


@pytest.mark.parametrize("change", ["written", "replaced", "mode"])
def test_changed_file_of_equal_size_and_time_is_reread(out, tmp_path, result_of, n_parsed, change):
    path = file_of(out, CELL)
    before = path.stat()
    Results(tmp_path / "edited").write(result_of(CELL, nmll=9.0, kl=float("inf"), rmse=float("nan")))
    n_parsed.clear()
    edited = file_of(tmp_path / "edited", CELL)
    if change == "replaced":
        edited.replace(path)
    elif change == "written":
        path.write_bytes(edited.read_bytes())
    else:
        path.chmod(0o600)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert nmll(out) == [1.0 if change == "mode" else 9.0, 2.0]
    assert n_parsed == [1]


def test_recently_changed_files_are_not_cached(out, cache, monkeypatch, n_parsed):
    shutil.rmtree(cache)
    monkeypatch.setattr(rows_cache, "SETTLED", 3600 * 10**9)
    for _ in range(2):
        assert nmll(out) == [1.0, 2.0]
    assert n_parsed == [2, 2]
    assert not cache.exists()


def test_cache_file_inside_a_results_folder_is_ignored(out, cache):
    shutil.copy(next(cache.iterdir()), out / "index.json")
    shutil.copy(next(cache.iterdir()), out / "index.parquet")
    assert nmll(out) == [1.0, 2.0]


def test_damaged_cache_falls_back_to_the_files(out, cache, n_parsed):
    (stored,) = cache.iterdir()
    content = stored.read_bytes()
    stored.write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
    assert nmll(out) == [1.0, 2.0]
    assert n_parsed == [2]


def test_file_under_another_cells_name_is_refused(out):
    moved = file_of(out, replace(CELL, split=5))
    file_of(out, CELL).rename(moved)
    cells = CellFiles(out)
    assert list(cells.unreadable) == [moved]
    assert cells.table["nmll"].to_pylist() == [2.0]


def test_unwritable_cache_raises_no_error(out, cache):
    shutil.rmtree(cache)
    cache.write_text("a file is in the way")
    assert nmll(out) == [1.0, 2.0]


def test_small_folders_are_not_cached(tmp_path, cache, monkeypatch, result_of):
    monkeypatch.setattr(rows_cache, "WORTHWHILE", 200)
    Results(tmp_path / "few").write(result_of(CELL, nmll=1.0))
    assert nmll(tmp_path / "few") == [1.0]
    assert not cache.exists()
