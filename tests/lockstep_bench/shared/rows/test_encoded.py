"""Data frames of encoded tables."""

import pyarrow as pa

from lockstep_bench.shared.rows.encoded import as_frame, encoded

ROWS = pa.table({"preset": ["b", "c", "b", None, "a"], "host": ["x", None, "y", "x", "x"], "note": [None] * 5})


def frame(n_rows=5):
    table = ROWS.set_column(2, "note", ROWS["note"].cast(pa.string()))
    return as_frame(encoded(table).slice(0, n_rows), categories=("preset", "note"))


def test_texts_become_the_named_categories():
    assert frame()["preset"].fillna("a").tolist() == ["b", "c", "b", "a", "a"]
    assert frame()["host"].isna().tolist() == [False, True, False, False, False]
    assert frame()["note"].isna().all()
    assert frame().dtypes.astype(str).tolist() == ["category", "str", "category"]


def test_categories_are_sorted_and_occur():
    assert frame()["preset"].cat.categories.tolist() == ["a", "b", "c"]
    assert frame(3)["preset"].cat.categories.tolist() == ["b", "c"]
    assert frame(3).sort_values("preset")["preset"].tolist() == ["b", "b", "c"]
