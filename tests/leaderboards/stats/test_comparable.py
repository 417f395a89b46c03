"""The comparable part of results on each data set."""

import numpy as np
import pytest

from leaderboards.stats.comparable import comparable, comparable_on_each, request

WHERE = ("uci", "paper", "nmll")


def rows_of(values: dict[str, dict[str, list]]) -> list[dict]:
    return [
        {"dataset": dataset, "method": method, "split": split, "nmll": value}
        for dataset, methods in values.items()
        for method, of_splits in methods.items()
        for split, value in enumerate(of_splits)
    ]


@pytest.mark.parametrize("last", [[3.0, 4.0], [3.0]])  # with one split less, the table has a gap
def test_data_sets_are_compared_as_if_alone(cells, last):
    values = {"a": {"map": [1.0, 2.0], "swag": [2.0, 3.0]}, "b": {"map": [5.0, 6.0], "swag": last}}
    together = comparable_on_each(request(cells(*rows_of(values)), *WHERE))
    for found, (dataset, methods) in zip(together, values.items(), strict=True):
        alone = comparable(request(cells(*rows_of({dataset: methods})), *WHERE))
        assert found._replace(by_dataset={}) == alone._replace(by_dataset={})
        (board,), (expected,) = found.by_dataset.values(), alone.by_dataset.values()
        np.testing.assert_array_equal(board.scores, expected.scores)
        np.testing.assert_array_equal(board.reference, expected.reference)
        assert board[2:] == expected[2:]
