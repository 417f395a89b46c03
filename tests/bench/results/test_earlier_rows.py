"""Earlier rows of other code, protocols or spaces are noted; rows of other data are refused."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.environment.provenance import code_revision
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.code import identity_of
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.results import earlier_rows
from lockstep_bench.bench.results.earlier_rows import notes_on_earlier_rows, space_of_cell
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.protocol import Protocol

CELL = Cell("uci", "diabetes", "map", 0, "paper", Protocol(), 0)
HERE = code_revision()


def row(cell: Cell = CELL, **changes) -> tuple[Cell, dict]:
    """Return a cell, and the columns of its row that are not None."""
    columns = {
        "code_revision": HERE.commit,
        "code_dirty": HERE.dirty,
        "search_space": space_of_cell(cell),
        "data_sha256": datasets.load(cell.dataset).data_sha256,
        **changes,
    }
    return cell, {name: value for name, value in columns.items() if value is not None}


@pytest.fixture
def stored(tmp_path, result_of):
    """Return a function that stores rows in a folder and reads them back."""

    def make(*rows: tuple[Cell, dict]) -> pd.DataFrame:
        results = Results(tmp_path)
        for number, (cell, columns) in enumerate(rows):
            if "data_sha256" in columns:
                columns = {"split_sha256": datasets.load(cell.dataset).split_sha256[number]} | columns
            results.write(result_of(replace(cell, split=number), **columns))
        return results.rows()

    return make


def test_empty_folder_gives_no_notes(tmp_path):
    assert Results(tmp_path).rows().empty
    assert notes_on_earlier_rows(Results(tmp_path).rows(), [CELL], None) == []
    assert notes_on_earlier_rows(Results(tmp_path).rows(), [], None) == []


def test_rows_of_equal_provenance_give_no_notes(stored):
    rows = stored(row(), row(replace(CELL, split=1)), row(search_space=None))
    assert len(rows) == 3
    assert notes_on_earlier_rows(rows, [CELL], None) == []


def test_results_folder_with_different_data_is_refused(stored):
    rows = stored(row(), row(replace(CELL, split=1), data_sha256="f" * 64), row(data_sha256=None))
    with pytest.raises(
        InvalidRequest, match=r"1 cells of diabetes \(SHA-256 ffffffffffff; here [0-9a-f]{12}\).*--fresh.*--out"
    ):
        notes_on_earlier_rows(rows, [CELL], None)


def test_results_folder_with_different_splits_is_refused(stored):
    with pytest.raises(InvalidRequest, match="1 cells of diabetes on other training and test rows"):
        notes_on_earlier_rows(stored(row(), row(split_sha256="f" * 64)), [CELL], None)
    with pytest.raises(InvalidRequest, match="cells of diabetes as a binary task"):
        notes_on_earlier_rows(stored(row(task="binary")), [CELL], None)


def test_rows_of_other_code_revisions_are_noted(stored):
    rows = stored(row(), row(code_revision="a" * 40, code_dirty=False), row(code_revision="b" * 40, code_dirty=True))
    first, last = notes_on_earlier_rows(rows, [CELL], None)
    assert "1 of aaaaaaaaaaaa, 1 of bbbbbbbbbbbb with uncommitted changes; this is " in first
    assert "--fresh" in last


def test_equal_code_identity_outweighs_a_different_commit(stored):
    same = identity_of(CELL.suite, CELL.dataset, CELL.method)
    other = {"code_revision": "a" * 40, "code_dirty": True}
    assert notes_on_earlier_rows(stored(row(**other, code_identity=same)), [CELL], None) == []
    first, _ = notes_on_earlier_rows(stored(row(code_identity="another")), [CELL], None)
    assert "cells of another code revision: 1 of " in first


def test_rows_of_other_protocols_are_noted(stored):
    other = replace(CELL, protocol=Protocol(epochs=3))
    first, _ = notes_on_earlier_rows(stored(row(), row(other)), [CELL], None)
    assert f"1 of paper@{other.protocol.hash}; this is {CELL.protocol.hash}" in first


def test_rows_of_other_search_spaces_are_noted(stored):
    space = json.loads(space_of_cell(CELL))
    name = next(iter(space))
    changed = space | {name: space[name] | {"attributes": space[name]["attributes"] | {"high": 12345.0}}}
    rows = stored(
        row(), row(search_space=json.dumps(changed)), row(search_space=json.dumps(dict(reversed(space.items()))))
    )
    first, _ = notes_on_earlier_rows(rows, [CELL], None)
    assert "map on diabetes (1)" in first


def test_search_spaces_of_user_tables_may_differ_by_split(stored, tmp_path):
    path = tmp_path / "houses.csv"
    pd.DataFrame({"area": range(40), "price": [number**2 for number in range(40)]}).to_csv(path, index=False)
    cell = replace(CELL, suite="own", dataset="houses")
    with datasets.added([datasets.describe(path, "price")[0]]):
        spaces = [space_of_cell(replace(cell, split=split)) for split in (0, 1)]
        assert spaces[0] != spaces[1]
        rows = stored(*(row(cell, search_space=space) for space in spaces))
        assert notes_on_earlier_rows(rows, [cell], None) == []
        rows = stored(*(row(cell, search_space=spaces[0]) for _ in spaces))
        assert "map on houses (1)" in notes_on_earlier_rows(rows, [cell], None)[0]


@pytest.mark.parametrize("other", [{"suite": "toy"}, {"dataset": "wdbc"}, {"preset": "quick"}])
def test_unrelated_rows_give_no_notes(stored, other):
    assert notes_on_earlier_rows(stored(row(replace(CELL, **other), code_revision="a" * 40)), [CELL], None) == []


def test_data_are_loaded_only_if_rows_are_comparable(stored, monkeypatch):
    rows = stored(row(replace(CELL, preset="quick")))
    monkeypatch.setattr(earlier_rows.datasets, "load", lambda *_: pytest.fail("no row shares the board"))
    assert notes_on_earlier_rows(rows, [CELL], None) == []
