"""What is in a results folder already is refused, or told, where it was made otherwise."""

import json
from dataclasses import replace

import pandas as pd
import pytest

import datasets
from bench.environment.provenance import code_revision
from bench.experiment.cells import Cell
from bench.experiment.code import identity_of
from bench.experiment.plan import InvalidRequest
from bench.experiment.protocol import Protocol
from bench.results import earlier
from bench.results.earlier import beside, space_of_cell
from bench.results.folder import Results

CELL = Cell("uci", "diabetes", "map", 0, "paper", Protocol(), 0)
HERE = code_revision()


def row(cell: Cell = CELL, **changes) -> tuple[Cell, dict]:
    """A cell, and columns of its row; without those that are None."""
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
    """The rows of a folder with such cells."""

    def make(*rows: tuple[Cell, dict]) -> pd.DataFrame:
        results = Results(tmp_path)
        for number, (cell, columns) in enumerate(rows):
            results.write(result_of(replace(cell, split=number), **columns))
        return results.rows()

    return make


def test_an_empty_folder_has_no_rows_and_nothing_to_say(tmp_path):
    assert Results(tmp_path).rows().empty
    assert beside(Results(tmp_path).rows(), [CELL], None) == []
    assert beside(Results(tmp_path).rows(), [], None) == []


def test_what_was_made_alike_stands_beside_without_a_word(stored):
    rows = stored(row(), row(replace(CELL, split=1)), row(search_space=None))
    assert len(rows) == 3
    assert beside(rows, [CELL], None) == []


def test_other_data_are_refused(stored):
    rows = stored(row(), row(replace(CELL, split=1), data_sha256="f" * 64), row(data_sha256=None))
    with pytest.raises(
        InvalidRequest, match=r"1 cells of diabetes \(SHA-256 ffffffffffff; here [0-9a-f]{12}\).*--fresh.*--out"
    ):
        beside(rows, [CELL], None)


def test_other_code_is_told(stored):
    rows = stored(row(), row(code_revision="a" * 40, code_dirty=False), row(code_revision="b" * 40, code_dirty=True))
    first, last = beside(rows, [CELL], None)
    assert "1 of aaaaaaaaaaaa, 1 of bbbbbbbbbbbb with uncommitted changes; this is " in first
    assert "--fresh" in last


def test_equal_identity_outweighs_another_revision(stored):
    same = identity_of(CELL.suite, CELL.dataset, CELL.method)
    other = {"code_revision": "a" * 40, "code_dirty": True}
    assert beside(stored(row(**other, code_identity=same)), [CELL], None) == []
    first, _ = beside(stored(row(code_identity="another")), [CELL], None)
    assert "Cells of another code revision stand beside these: 1 of " in first


def test_another_protocol_of_the_preset_is_told(stored):
    other = replace(CELL, protocol=Protocol(epochs=3))
    first, _ = beside(stored(row(), row(other)), [CELL], None)
    assert f"1 of paper@{other.protocol.hash}; this is {CELL.protocol.hash}" in first


def test_another_search_space_is_told(stored):
    space = json.loads(space_of_cell(CELL))
    name = next(iter(space))
    changed = space | {name: space[name] | {"attributes": space[name]["attributes"] | {"high": 12345.0}}}
    rows = stored(
        row(), row(search_space=json.dumps(changed)), row(search_space=json.dumps(dict(reversed(space.items()))))
    )
    first, _ = beside(rows, [CELL], None)
    assert "map on diabetes (1)" in first


@pytest.mark.parametrize("other", [{"suite": "toy"}, {"dataset": "wdbc"}, {"preset": "quick"}])
def test_other_boards_are_nobodys_business(stored, other):
    assert beside(stored(row(replace(CELL, **other), code_revision="a" * 40)), [CELL], None) == []


def test_data_are_looked_at_only_where_rows_are(stored, monkeypatch):
    rows = stored(row(replace(CELL, preset="quick")))
    monkeypatch.setattr(earlier.datasets, "load", lambda *_: pytest.fail("nothing is to be compared"))
    assert beside(rows, [CELL], None) == []
