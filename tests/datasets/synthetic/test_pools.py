"""Regressions as pools: which rows are known, hidden and test rows."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.synthetic import pools


def test_ten_regressions_are_pools():
    names = [source.name for source in pools.sources()]
    assert len(names) == 20
    assert sum(name.startswith("optimise-") for name in names) == 10
    assert all(datasets.entry(name).suites == ("decisions",) for name in names)


@pytest.mark.parametrize("name", ["optimise-diabetes", "active-diabetes"])
def test_first_pool_and_test_rows_are_all_rows(name):
    source, loaded = datasets.entry(name), datasets.load(name)
    for split in loaded.splits[:3]:
        parts = split.train, split.test, source.pool(split)
        assert [len(part) for part in parts] == [20, 88, 334]
        assert (np.sort(np.concatenate(parts)) == np.arange(442)).all()


def test_largest_target_is_in_the_pool_of_every_search():
    loaded = datasets.load("optimise-diabetes")
    source, best = datasets.entry("optimise-diabetes"), loaded.y.argmax()
    assert all(best in source.pool(split) for split in loaded.splits)


def test_noise_range_follows_the_first_targets_alone():
    loaded, source = datasets.load("optimise-diabetes"), datasets.entry("optimise-diabetes")
    low, high = datasets.source_of_split(source, loaded, 2).noise_precisions
    variance = loaded.y[loaded.splits[2].train].var()
    assert (low * variance, high * variance) == pytest.approx((1, 100))


def test_large_tables_are_cut_to_random_rows():
    x = np.arange(3000.0)[:, None]
    rows, y, splits = pools.read_pool(lambda contents: (x, x[:, 0], ()), False, {})
    assert len(rows) == len(y) == pools.ROWS
    assert (rows[:, 0] == y).all()
    assert abs(y.mean() - 1500) < 4 * 866 / np.sqrt(1000)
    assert not np.array_equal(splits[0].train, splits[1].train)
