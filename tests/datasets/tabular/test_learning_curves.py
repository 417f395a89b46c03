"""Nested subsamples: the test rows of the whole set, and training rows that contain those of smaller sizes."""

from itertools import pairwise

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.datasets import Split
from lockstep_bench.datasets.tabular import learning_curves
from lockstep_bench.datasets.tabular.learning_curves import SETS, SIZES, subsampled


def whole(number):
    rows = np.random.default_rng(number).permutation(200)
    return Split(rows[:180], rows[180:])


def test_training_rows_are_nested_and_test_rows_fixed():
    splits = [subsampled(whole(3), size, 3) for size in (5, 20, 180)]
    assert [len(split.train) for split in splits] == [5, 20, 180]
    for smaller, larger in pairwise(splits):
        assert set(smaller.train) < set(larger.train)
        assert smaller.test.tolist() == larger.test.tolist() == whole(3).test.tolist()
    assert set(splits[-1].train) == set(whole(3).train)


def test_each_training_row_is_drawn_equally_often():
    base = whole(0)
    drawn = np.concatenate([subsampled(base, 36, number).train for number in range(500)])
    counts = np.bincount(drawn, minlength=200)[base.train]
    assert counts.mean() == 100
    assert abs(counts - 100).max() < 5 * np.sqrt(100 * 0.8)


def test_splits_have_subsamples_of_their_own():
    first, second = (subsampled(whole(0), 20, number).train.tolist() for number in (0, 1))
    assert first != second


def test_suite_has_ten_sets_at_every_size():
    assert len(SETS) == 10
    names = SUITES["learning-curves"].datasets()
    assert names == tuple(f"{name}-n{size}" for name in SETS for size in SIZES)
    for name in SETS:
        assert not datasets.entry(name).flagged


@pytest.mark.parametrize("name", ["power", "gp-pumadyn32nm"])
def test_subsamples_are_read_from_the_files_of_the_whole_set(name, load_published):
    base, small, large = (load_published(each) for each in (name, f"{name}-n50", f"{name}-n5000"))
    assert base.data_sha256 == small.data_sha256
    assert len(small.splits) == 10
    for split, of_small, of_large in zip(base.splits, small.splits, large.splits, strict=False):
        assert split.test.tolist() == of_small.test.tolist()
        assert set(of_small.train) < set(of_large.train) < set(split.train)


def test_seed_is_stated_in_the_docstring_of_the_module():
    assert "[SEED, k]" in learning_curves.__doc__
    order = np.argsort(np.random.PCG64(np.random.SeedSequence([learning_curves.SEED, 4])).random_raw(180))
    base = whole(1)
    assert subsampled(base, 7, 4).train.tolist() == sorted(base.train[order[:7]].tolist())
