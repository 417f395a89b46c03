"""Columns that number or identify the rows are noticed, and whole numbers that describe them are not."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.own.identifiers import likeness_to_an_identifier

COUNTS = "counts the rows"
NUMBERS = np.arange(1000)
KEPT = np.sort(np.random.default_rng(0).permutation(NUMBERS)[:800])  # rows that `dropna` leaves


def likeness(numbers, name: str = "x") -> str:
    return likeness_to_an_identifier(pd.Series(numbers, name=name)).split(", like")[0].split(";")[0]


def shuffled(numbers, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).permutation(numbers)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (NUMBERS + 5, COUNTS),
        (shuffled(NUMBERS), COUNTS),
        (KEPT, "increases from row to row"),
        (KEPT[::-1], "decreases from row to row"),
        (np.sort([*KEPT, *KEPT[:40]]), "increases from row to row"),
        (shuffled(KEPT), "has another whole number in each row"),
        ([*KEPT, *KEPT[:40]], "has another whole number in nearly each row"),
        (np.where(NUMBERS % 7, NUMBERS, np.nan), "increases from row to row"),
        (100_000 + shuffled(np.arange(900_000))[:500], "has another whole number in each row"),
    ],
)
def test_row_numbers_and_ids_are_noticed(numbers, expected):
    assert likeness(numbers) == expected


def test_names_ending_in_id_are_ids_only_of_whole_numbers():
    prices = shuffled(NUMBERS)[:30] ** 2
    assert likeness(prices, "user_id") == "has another number in each row"
    assert likeness([*prices, prices[0]], "userID") == "has another number in nearly each row"
    assert likeness(prices) == likeness(prices / 7, "citric acid") == likeness(prices % 5, "id") == ""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_rows", [30, 200, 2000])
def test_measured_whole_numbers_are_not_noticed(n_rows, seed):
    generator = np.random.default_rng(seed)
    columns = {
        "count": generator.poisson(40, n_rows),
        "age": generator.integers(18, 90, n_rows),
        "year": np.sort(generator.integers(1990, 2020, n_rows)),
        "price": generator.lognormal(12, 0.5, n_rows).round(),
        "weight": generator.normal(80_000, 9_000, n_rows).round(),
        "temperature": np.cumsum(generator.normal(0, 30, n_rows)).round(),
    }
    noticed = {name: likeness(numbers) for name, numbers in columns.items()}
    assert set(noticed.values()) == {""}, noticed
