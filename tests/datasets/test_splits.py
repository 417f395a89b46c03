"""The project's own rules for dividing rows give partitions, and never change silently."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench import datasets
from lockstep_bench.datasets.records import digest
from lockstep_bench.datasets.splits import fixed_splits, held_out_splits, permutation, sorted_by, tail_split

sizes = st.integers(2, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n)))
seeds = st.integers(0, 2**63 - 1)


@given(sizes, seeds)
@settings(deadline=None)
def test_folds_partition_rows_into_nearly_equal_parts(size, seed):
    n_rows, n_folds = size
    parts = datasets.folds(n_rows, n_folds, seed)
    assert sorted(np.concatenate(parts)) == list(range(n_rows))
    extra = n_rows % n_folds
    assert [len(part) for part in parts] == [n_rows // n_folds + (number < extra) for number in range(n_folds)]
    assert all(part.dtype == np.int64 for part in parts)


@given(sizes, seeds)
@settings(deadline=None)
def test_the_same_seed_gives_the_same_folds(size, seed):
    again = [datasets.folds(*size, seed) for _ in range(2)]
    assert all(np.array_equal(*pair) for pair in zip(*again, strict=True))


def test_different_seeds_give_different_folds():
    assert not np.array_equal(datasets.folds(100, 5, 0)[0], datasets.folds(100, 5, 1)[0])


def test_first_row_of_a_permutation_is_uniformly_distributed():
    firsts = np.bincount([permutation(4, seed)[0] for seed in range(2000)], minlength=4)
    # Binomial(2000, 1/4) has a standard deviation of 19.4; four of them either way.
    assert np.abs(firsts - 500).max() < 78


@pytest.mark.parametrize(
    ("n_rows", "n_folds", "seed", "complaint"),
    [
        (10, 1, 0, "at least 2 folds, got n_folds=1"),
        (3, 5, 0, "got n_rows=3 for n_folds=5"),
        (0, 2, 0, "got n_rows=0"),
        (10, 2, -1, "got seed=-1"),
    ],
)
def test_invalid_numbers_of_folds_are_refused(n_rows, n_folds, seed, complaint):
    with pytest.raises(ValueError, match=complaint):
        datasets.folds(n_rows, n_folds, seed)


def test_non_integer_numbers_of_folds_are_refused():
    with pytest.raises(TypeError):
        datasets.folds(10, 2.5, 0)


@given(st.integers(7, 300), st.integers(2, 7), seeds)
@settings(deadline=None)
def test_block_folds_hold_out_contiguous_ranges(n_rows, n_folds, seed):
    values = np.random.default_rng(seed).permutation(n_rows).astype(float)
    for part in datasets.block_folds(values, n_folds, seed, outer=False):
        held_out = np.sort(values[part])
        assert len(held_out) == n_rows // 3
        assert held_out[-1] - held_out[0] == len(held_out) - 1  # no rank is left out
        assert held_out[0] > 0
        assert held_out[-1] < n_rows - 1
    for part in datasets.block_folds(values, n_folds, seed, outer=True):
        training = np.sort(np.delete(values, part))
        assert len(training) == n_rows - n_rows // 3
        assert training[-1] - training[0] == len(training) - 1


def test_middle_block_fold_equals_the_gap_split_rule():
    values = np.arange(12.0)[::-1]
    gaps = datasets.block_folds(values, 3, 0, outer=False)
    assert [sorted(values[part]) for part in gaps] == [[2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 8, 9]]
    tails = datasets.block_folds(values, 3, 0, outer=True)
    assert [sorted(values[part]) for part in tails] == [[8, 9, 10, 11], [0, 1, 10, 11], [0, 1, 2, 3]]
    assert sorted(values[tail_split(values, 0, 0).test]) == [0, 1, 10, 11]


def test_tied_feature_values_are_ordered_by_seed():
    values = np.repeat([1.0, 0.0], 50)
    assert sorted_by(values, 3).tolist() == [row for row in permutation(100, 3) if row >= 50] + [
        row for row in permutation(100, 3) if row < 50
    ]
    first, second = (datasets.block_folds(values, 2, seed, outer=False)[0] for seed in (0, 1))
    assert not np.array_equal(np.sort(first), np.sort(second))


def test_generated_splits_equal_stored_ones():
    """Results are compared across years and machines: if this fails, the rule changed, and so did every split."""
    assert permutation(10, 0).tolist() == [3, 2, 1, 8, 6, 0, 7, 4, 5, 9]
    assert digest(*datasets.folds(103, 5, 7)) == "a7a18c03f8a83323556ebc670a8db8fc74a4ae543c973473887ca5e4ccd49b11"
    splits = fixed_splits(442, 20, 2004)
    assert splits[0].test[:5].tolist() == [357, 17, 394, 198, 338]
    rows = [rows for split in splits for rows in (split.train, split.test)]
    assert digest(*rows) == "2db59b9cbc6f305ba72a96bcdf4b80729665b996ae3131207fe33d42b52c5ffd"


@given(st.integers(2, 300), st.floats(0, 1), seeds)
@settings(deadline=None)
def test_fixed_splits_partition_the_rows_by_the_test_fraction(n_rows, test_fraction, seed):
    for split in fixed_splits(n_rows, 2, seed, test_fraction):
        assert len(split.test) == round(n_rows * test_fraction)
        assert sorted([*split.train, *split.test]) == list(range(n_rows))


def test_number_of_test_rows_is_rounded_to_even():
    assert [(len(s.train), len(s.test)) for s in fixed_splits(683, 2, 0, 0.5)] == [(341, 342)] * 2
    assert [(len(s.train), len(s.test)) for s in fixed_splits(1605, 2, 0, 0.5)] == [(803, 802)] * 2


def test_test_fraction_moves_the_cut_not_the_order():
    (half,), (tenth,) = fixed_splits(100, 1, 3, 0.5), fixed_splits(100, 1, 3)
    np.testing.assert_array_equal([*half.train, *half.test], [*tenth.train, *tenth.test])


def test_fixed_splits_partition_the_rows_nine_to_one():
    for split in fixed_splits(442, 20, 2004):
        assert (len(split.train), len(split.test)) == (398, 44)
        assert sorted([*split.train, *split.test]) == list(range(442))


def test_validation_rows_lie_between_train_and_test():
    (plain,), (split,) = (fixed_splits(10, 1, 7, 0.3, fraction) for fraction in (0.0, 0.2))
    assert (len(split.train), len(split.validation), len(split.test)) == (5, 2, 3)
    assert [*split.train, *split.validation] == plain.train.tolist()
    assert split.test.tolist() == plain.test.tolist() == permutation(10, [7, 0])[7:].tolist()


def test_held_out_splits_share_the_published_test_set():
    splits = held_out_splits(20, 5, 3, 7)
    assert all(split.test.tolist() == [20, 21, 22, 23, 24] for split in splits)
    for number, split in enumerate(splits):
        assert [*split.train, *split.validation] == permutation(20, [7, number]).tolist()
        assert len(split.validation) == 2
    assert len({tuple(split.validation) for split in splits}) == 3


@pytest.mark.parametrize(("name", "scheme"), [("toy", "drawn"), ("diabetes", "resampled")])
def test_splits_share_rows_exactly_if_resampled(name, scheme):
    assert datasets.entry(name).split_scheme == scheme
    first, second, *_ = datasets.load(name).splits
    shared = set(np.concatenate([first.train, first.test])) & set(np.concatenate([second.train, second.test]))
    assert bool(shared) == (scheme == "resampled")
