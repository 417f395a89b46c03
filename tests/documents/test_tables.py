"""A table that a comment claims is compared cell by cell with rows."""

import pandas as pd
import pytest
from documents import tables
from documents.references import numbers

WANTED = numbers("rows uci tuned nmll: table")
HEADING = ["method", "yacht", "boston", "note"]


@pytest.fixture
def rows(monkeypatch):
    """Two splits of two sets, a third of whose rows test: `map` at 1 and 3, `vifa` half a nat below.

    With predicted noise, `map` is at 0.9 and 1.1.
    """
    values = {("tuned", "map"): (1.0, 3.0), ("tuned", "vifa"): (0.5, 2.5), ("noisy", "map"): (0.9, 1.1)}
    records = [
        {
            "suite": "uci",
            "preset": preset,
            "protocol_hash": preset,
            "method": method,
            "dataset": dataset,
            "split": split,
        }
        | {"status": "ok", "seed": 0, "nmll": value, "n_train": 20, "n_test": 10}
        for (preset, method), pair in values.items()
        for dataset in ("yacht", "boston")
        for split, value in enumerate(pair)
    ]
    monkeypatch.setattr(tables, "kept", lambda: pd.DataFrame(records))
    tables._board.cache_clear()
    tables._ratios.cache_clear()
    yield
    tables._board.cache_clear()
    tables._ratios.cache_clear()


def problems(*body: list[str], options: str = "", wanted=WANTED, heading=HEADING) -> list[str]:
    return tables.problems_with_table([list(heading), *body], wanted, options)


def test_table_cells_are_means_and_corrected_standard_errors(rows):
    assert problems(["`map`", "2.00 ± 1.41", "2.0 ± 1.4", "any"], ["`vifa`", "1.50 ± 1.41", "1.50 ± 1.41", ""]) == []


@pytest.mark.parametrize("cell", ["2.01 ± 1.41", "2.00 ± 1.42", "2.00", ""])
def test_wrong_table_cells_are_detected(rows, cell):
    (problem,) = problems(["`map`", cell, "2.00 ± 1.41", ""])
    assert problem.startswith("yacht, map: ")


def test_methods_without_result_rows_are_detected(rows):
    assert len(problems(["`swag`", "2.00 ± 1.41", "2.00 ± 1.41", ""])) == 2


def test_tables_of_wrong_data_sets_are_detected(rows):
    assert "no column" in problems(["`map`", "1"], heading=["method", "wine"])[0]


def test_bracketed_gains_in_tables_are_over_the_other_preset(rows):
    wanted, options = numbers("rows uci noisy nmll: table"), ", else tuned, gain over tuned"
    right = ["`map`", "1.00 ± 0.14 (+1.00)", "1.00 ± 0.14 (+1.00)", ""]
    fallback = ["`vifa`", "1.50 ± 1.41", "1.50 ± 1.41", ""]
    assert problems(right, fallback, wanted=wanted, options=options) == []
    assert problems(["`map`", "1.00 ± 0.14 (−1.00)", right[2], ""], wanted=wanted, options=options) != []


def test_gains_are_computed_on_common_splits(rows, monkeypatch):
    more = pd.concat([tables.kept(), tables.kept().query("preset == 'tuned' and split == 1").assign(split=2, nmll=9.0)])
    monkeypatch.setattr(tables, "kept", lambda: more)
    wanted = numbers("rows uci noisy nmll: table")
    assert (
        problems(
            ["`map`", "1.00 ± 0.14 (+1.00)", "1.00 ± 0.14 (+1.00)", ""], wanted=wanted, options=", gain over tuned"
        )
        == []
    )


def test_rank_column_averages_ranks_over_data_sets(rows):
    heading = ["method", "yacht", "boston", "rank of 2"]
    vifa, point = ["`vifa`", "1.50 ± 1.41", "1.50 ± 1.41"], ["`map`", "2.00 ± 1.41", "2.00 ± 1.41"]
    assert problems([*vifa, "1"], [*point, "2"], heading=heading) == []
    assert problems([*vifa, "2"], [*point, "2"], heading=heading) == ["rank of 2, vifa: 2 is 1"]
    with pytest.raises(AssertionError, match="rank of 2: there are 1 methods"):
        problems([*vifa, "1"], heading=heading)


def test_median_tables_show_medians_without_errors(rows, monkeypatch):
    three = pd.concat([tables.kept(), tables.kept().query("split == 1").assign(split=2, nmll=9.0)])
    monkeypatch.setattr(tables, "kept", lambda: three)
    wanted = numbers("rows uci tuned nmll median: table")
    assert problems(["`map`", "3.00", "3.0", ""], wanted=wanted) == []
    assert problems(["`map`", "3.00", "4.3", ""], wanted=wanted) == ["boston, map: 4.3 is 3 (3 rows)"]
