"""Methods of a data set by their splits."""

import pytest

from lockstep_bench.leaderboards.stats.extents import Extent, extents
from lockstep_bench.leaderboards.stats.paired import Paired


def extents_of(table: Paired) -> list[Extent]:
    return extents(table.methods, table.observed.to_numpy(), table.tried.to_numpy())


def in_words(table) -> list[tuple[str, str, int]]:
    return [("".join(e.methods), "".join(e.compared), len(e.splits)) for e in extents_of(table)]


def test_values_include_all_methods_run_on_the_splits(table):
    _, fewer = extents_of(table({"x": {"a": [1, 2, 3], "b": [4, 5, 6], "c": [..., ..., 7]}}))
    assert (fewer.compared, fewer.splits.tolist(), fewer.values.tolist()) == (["a", "b", "c"], [2], [[3, 6, 7]])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": [1, 2], "b": [2, 3]}, [("ab", "ab", 2)]),
        ({"a": [1] * 20, "b": [2] * 5, "c": [3] * 20}, [("ac", "ac", 20), ("b", "abc", 5)]),
        ({"a": [1] * 3, "b": [2] * 2, "c": [3]}, [("a", "a", 3), ("b", "ab", 2), ("c", "abc", 1)]),
        ({"a": [1, 2, ..., ...], "b": [..., ..., 2, 3], "c": [..., ..., 3, 4]}, [("bc", "bc", 2), ("a", "a", 2)]),
        ({"a": [1, None], "b": [2, 2]}, [("ab", "ab", 2)]),  # a failure was run
        ({"a": [1, None], "b": [2, None], "c": [..., None]}, [("ab", "ab", 1)]),
        ({"a": [None], "b": [None]}, []),
    ],
)
def test_methods_are_compared_on_all_splits_they_share(table, values, expected):
    assert in_words(table({"x": values})) == expected


def test_notes_report_missing_splits_and_values(table):
    most, fewer = extents_of(table({"x": {"a": [1, 2, 3, None], "b": [2, 3, 4, None], "c": [3]}}))
    assert most.notes == ["1 split left out, on which no method has a value."]
    assert fewer.notes == [
        "1 method was run on 1 of 3 splits, and is compared on these with all methods that were run on them, 3 in "
        "number."
    ]
