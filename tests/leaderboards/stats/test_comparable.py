"""The comparable part of results on each data set."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.stats.comparable import comparable, comparable_on_each, request
from lockstep_bench.leaderboards.stats.runs import Runs

WHERE, METRIC = ("uci", "paper"), "nmll"


def rows_of(values: dict[str, dict[str, list]]) -> list[dict]:
    return [
        {"dataset": dataset, "method": method, "split": split, "nmll": value}
        for dataset, methods in values.items()
        for method, of_splits in methods.items()
        for split, value in enumerate(of_splits)
    ]


@pytest.mark.parametrize("last", [[3.0, 4.0], [3.0]])  # with one split less, the table has a gap
def test_each_data_set_is_compared_independently(cells, last):
    values = {"a": {"map": [1.0, 2.0], "swag": [2.0, 3.0]}, "b": {"map": [5.0, 6.0], "swag": last}}
    together = comparable_on_each(request(Runs.of(cells(*rows_of(values)), *WHERE), METRIC))
    first = {dataset: part for part in reversed(together) for dataset in part.by_dataset}
    for dataset, methods in values.items():
        found, alone = first[dataset], comparable(request(Runs.of(cells(*rows_of({dataset: methods})), *WHERE), METRIC))
        assert found._replace(by_dataset={}) == alone._replace(by_dataset={})
        (board,), (expected,) = found.by_dataset.values(), alone.by_dataset.values()
        np.testing.assert_array_equal(board.scores, expected.scores)
        np.testing.assert_array_equal(board.reference, expected.reference)
        assert board[2:] == expected[2:]


def test_few_splits_of_one_method_remove_no_others(cells):
    values = {"a": {"map": [1.0] * 6, "swag": [2.0] * 6, "vifa": [3.0] * 2}}
    most, fewer = comparable_on_each(request(Runs.of(cells(*rows_of(values)), *WHERE), METRIC))
    assert (most.methods, most.placed, most.by_dataset["a"].scores.shape) == (["map", "swag"], ["map", "swag"], (6, 2))
    assert (fewer.methods, fewer.placed) == (["map", "swag", "vifa"], ["vifa"])
    assert fewer.by_dataset["a"].scores.shape == (2, 3)
    assert fewer.tested.tolist() == [[False, False, True], [False, False, True], [True, True, True]]
    assert most.tested.all()


def test_named_methods_are_compared_on_shared_splits(cells):
    values = {"a": {"map": [1.0] * 6, "swag": [2.0] * 6, "vifa": [3.0] * 2}}
    (only,) = comparable_on_each(request(Runs.of(cells(*rows_of(values)), *WHERE), METRIC, methods=["map", "vifa"]))
    assert (only.placed, only.by_dataset["a"].scores.shape) == (["map", "vifa"], (2, 2))
