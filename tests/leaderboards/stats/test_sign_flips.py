"""Sign flips over data sets, against SciPy's permutation test and enumerated boards."""

import itertools
from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.leaderboards.stats.sign_flips import compare, step_down


def roots(differences: np.ndarray) -> np.ndarray:
    return np.sign(differences) * np.sqrt(np.abs(differences))


def boards_of_all_flips(losses: np.ndarray) -> list[np.ndarray]:
    """All boards (D, M) that arise from losses around zero by mirroring data sets: equally probable, methods equal."""
    return [losses * np.array(signs)[:, None] for signs in itertools.product((1, -1), repeat=len(losses))]


@pytest.mark.parametrize(("n_datasets", "significant"), [(5, False), (6, True)])
def test_sign_flip_significance_needs_six_data_sets(n_datasets, significant):
    """All of 5 sets agree by chance in 2 of 32 cases, all of 6 in 2 of 64."""
    compared = compare(np.tile([2.0, 1.0], (n_datasets, 1)))
    assert compared.worse.tolist() == [[False, significant], [False, False]]
    assert (compared.critical == inf) == (not significant)


@pytest.mark.parametrize("seed", range(4))
def test_single_pair_equals_scipys_permutation_test(seed):
    differences = np.random.default_rng(seed).normal(0.4, 1.0, 9)

    def statistic(values: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(values.sum(axis=axis))

    expected = stats.permutation_test(
        (roots(differences),), statistic, permutation_type="samples", n_resamples=inf, alternative="greater",
        vectorized=True,
    ).pvalue  # fmt: skip
    p_values, _ = step_down(roots(differences)[:, None])
    assert p_values[0] == pytest.approx(expected)


def test_adjusted_p_values_equal_full_enumeration():
    """The definition, with loops: the largest u over the pairs that are not distinguished before."""
    values = np.random.default_rng(3).normal(size=(6, 4)) + np.array([0, 0, 0.8, 3.0])
    columns = roots(np.stack([values[:, a] - values[:, b] for a, b in itertools.combinations(range(4), 2)], axis=1))

    def u(board: np.ndarray) -> np.ndarray:
        return np.array([abs(column.sum()) / np.sqrt(6 * (column**2).sum()) for column in board.T])

    seen = u(columns)
    flipped = [u(board) for board in boards_of_all_flips(columns)]
    expected, so_far = {}, 0.0
    left = sorted(range(6), key=lambda pair: -seen[pair])
    while left:
        share = np.mean([max(one[pair] for pair in left) >= seen[left[0]] - 1e-12 for one in flipped])
        so_far = max(so_far, float(share))
        expected[left.pop(0)] = so_far
    p_values, _ = step_down(columns)
    assert p_values.tolist() == pytest.approx([expected[pair] for pair in range(6)])


@pytest.mark.parametrize("tails", ["normal", "heavy"])
@pytest.mark.parametrize("spread", [1.0, 10.0])
def test_size_of_the_test_is_exact_for_any_spread(spread, tails):
    """Among all 256 mirrored boards of equal methods at most 5 % have a claim, and nearly as many do."""
    rng = np.random.default_rng(7)
    draws = rng.normal(size=(8, 9)) if tails == "normal" else rng.standard_t(2, (8, 9)) * rng.exponential(size=(8, 1))
    boards = boards_of_all_flips(draws * spread ** rng.random(9))
    claims = sum(compare(board).worse.any() for board in boards)
    assert claims <= 0.05 * len(boards)
    assert claims >= 0.03 * len(boards)


def test_false_positive_rate_holds_beside_worse_methods():
    rng = np.random.default_rng(8)
    equal, far = rng.normal(size=(8, 5)), 9 + rng.normal(size=(8, 4))
    false = [compare(np.hstack([board, far])).worse[:5, :5].any() for board in boards_of_all_flips(equal)]
    assert np.mean(false) <= 0.05


def test_results_are_invariant_to_set_order_and_units():
    losses = np.random.default_rng(0).normal(size=(8, 6)) + 2 * np.arange(6)
    worse = compare(losses).worse
    assert worse.any()
    assert (compare(7 * losses[::-1]).worse == worse).all()


def test_data_set_of_huge_scale_does_not_dominate():
    losses = np.random.default_rng(1).normal(size=(12, 4)) + np.array([0, 0, 0, 8])
    losses[3] *= 1000
    assert compare(losses).worse[3, :3].all()


def test_failures_count_as_the_pairs_largest_difference():
    rng = np.random.default_rng(2)
    losses = np.column_stack([np.zeros(8), 1 + 0.1 * rng.normal(size=8), 1 + 0.1 * rng.normal(size=8)])
    replaced = losses.copy()
    replaced[2, 1] = losses[2, 0] + (losses[:, 1] - losses[:, 0])[[0, 1, 3, 4, 5, 6, 7]].max()
    for lost in (nan, inf):
        losses[2, 1] = lost
        assert compare(losses).worse[:, 0].tolist() == compare(replaced).worse[:, 0].tolist() == [False, True, True]


def test_two_failures_on_a_data_set_tie():
    losses = np.column_stack([np.zeros(8), np.full(8, nan), np.full(8, inf)])
    compared = compare(losses)
    assert compared.worse[:, 0].tolist() == [False, True, True]
    assert not compared.worse[1:, 1:].any()


@pytest.mark.parametrize("losses", [np.zeros((9, 5)), np.arange(3.0)[None], np.zeros((4, 1)), np.zeros((0, 3))])
def test_ties_and_single_sets_give_no_verdict(losses):
    assert not compare(losses).worse.any()


def test_many_data_sets_use_random_sign_flips():
    rng = np.random.default_rng(5)
    assert compare(rng.normal(size=(30, 3)) + np.array([0, 0, 2])).worse.tolist() == [
        [False] * 3,
        [False] * 3,
        [True, True, False],
    ]
