"""Tests of all pairs of methods over data sets: a sign-flip permutation test of the largest studentised difference.

For each pair of methods let d_k be the difference of their losses on data set k of D, and

    u = |sum_k r_k| / sqrt(D sum_k r_k^2),   r_k = sign(d_k) sqrt(min(|d_k|, 9 median|d|)).

u is 0 to 1 and grows with the t statistic of the r_k. It is scaled by each pair's own spread, so that a method whose
results vary widely makes no other pair's test less powerful. The square root, and the bound of nine times the pair's
median, keep data sets with huge differences from dominating.

If two methods are equally good, d_k is as probable as -d_k on each data set. All d_k of a data set can then change
their sign together without changing how probable the results are, and the 2^D leaderboards that arise so are equally
probable (Fisher 1935). An adjusted p-value is the share of these leaderboards whose largest u, over all pairs that are
not yet found significant, is at least the observed one: the step-down maximum of Westfall and Young (1993), by Romano
and Wolf (2005). The probability of any false claim is at most 5 %. Nothing else is assumed: spreads, tails and scales
may differ between methods and between data sets, and methods may be correlated.

A leaderboard and the one with all signs flipped have the same u. With D data sets there are 2^(D-1) different ones, and
the smallest p-value of a pair is one over this number: with five data sets or fewer no pair can be significant at 5 %.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import ceil, inf, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from lockstep_bench.leaderboards.stats.corrected_t import errors_beyond, needed
from lockstep_bench.leaderboards.stats.ranks import range_quantile
from lockstep_bench.leaderboards.stats.significance import ALPHA

FEWEST_DATASETS = ceil(1 + np.log2(1 / ALPHA))  # 6, with which 2^(D-1) is at least 1 / ALPHA
MOST_FLIPS = 4096  # all of up to 13 data sets, and that many at random of more
MOST_MEDIANS = 9.0  # sizes of a pair's differences, in their median, above which they count as that large
AT_ONCE = 128  # sign flips; all of them for 200 methods would take two gigabytes
ROUNDING = 1e-12  # of u, and of losses relative to their size, up to which values count as equal


class SignFlips(NamedTuple):
    """Comparisons of M methods over D data sets. There are P = M (M - 1) / 2 pairs, in the order of `triu_indices`.

    Attributes:
        worse: booleans (M, M), the row's method is significantly worse than the column's.
        differences: finite differences of losses (D, P), the loss of a pair's first method minus that of its second.
        critical: threshold of the statistic u (see the module) above which one more pair would be significant; inf if
            no value suffices.
    """

    worse: np.ndarray
    differences: np.ndarray
    critical: float

    def detectable(self) -> np.ndarray:
        """Return the smallest difference that is detected with 80 % power, for each method (M,).

        For a pair, it is the mean difference at which the pair's differences, shifted by a constant, would be
        significant. For a method, it is the median over its pairs. It is inf where no shift suffices, and NaN for a
        single method.
        """
        n_datasets, n_methods = len(self.differences), len(self.worse)
        smallest = np.full((n_methods, n_methods), nan)
        if n_datasets < 2 or n_methods < 2:
            return smallest[:, 0]
        shifts = np.full(self.differences.shape[1], inf)
        if self.critical < 1:
            t = self.critical * sqrt((n_datasets - 1) / (1 - self.critical**2))
            alone = float(scipy.special.stdtrit(n_datasets - 1, 1 - ALPHA / 2))  # if no other pair were tested
            errors = errors_beyond(n_datasets - 1, max(t, alone))
            shifts = _shifts(self.differences, errors / sqrt(n_datasets - 1 + errors**2))
        first, second = np.triu_indices(n_methods, 1)
        smallest[first, second] = smallest[second, first] = shifts
        medians: np.ndarray = np.nanmedian(smallest, axis=1)
        return medians

    def needed(self, row: int, column: int) -> float:
        """Return about how many data sets would distinguish two methods, at their observed difference, with 80 % power.

        For many data sets, the largest difference of M equally good methods has the distribution of the studentized
        range.
        """
        first, second = np.triu_indices(len(self.worse), 1)
        pair = ((first == row) & (second == column)) | ((first == column) & (second == row))
        roots = _roots(self.differences[:, pair])[:, 0]
        if roots.mean() == 0 or len(roots) < 2:
            return inf
        spread = roots.std(ddof=1)
        if spread == 0:
            return float(FEWEST_DATASETS)
        level = float(scipy.special.ndtr(-range_quantile(1 - ALPHA, len(self.worse)) / sqrt(2)))
        return max(needed(abs(roots.mean()) / spread, 0.0, level), float(FEWEST_DATASETS))


def compare(losses: np.ndarray) -> SignFlips:
    """Return the comparisons of all pairs of methods over data sets.

    Args:
        losses: losses on D data sets of M methods (D, M); low is good. An infinite loss and a NaN (a failure) count as
            worse than a finite loss by the pair's largest finite difference; two of them are equal.
    """
    differences = _differences(losses)
    roots = _roots(differences)
    p_values, critical = step_down(roots)
    return SignFlips(_worse(p_values, roots, losses.shape[1]), differences, critical)


def compare_together(losses: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return which methods are significantly worse than which, in several tables at once: booleans (M, M) for each.

    The probability that at least one claim in any table is false is at most 5 %. The tables are of the same D data
    sets, such as nested subsamples of them: the differences of a data set change their sign in all tables together.

    Args:
        losses: tables of losses on D data sets of M methods (D, M), each as in `compare`; M may differ.
    """
    roots = [_roots(_differences(table)) for table in losses]
    p_values, _ = step_down(np.concatenate(roots, axis=1))
    ends = np.cumsum([of_table.shape[1] for of_table in roots])[:-1]
    parts = zip(np.split(p_values, ends), roots, losses, strict=True)
    return [_worse(of_table, its_roots, table.shape[1]) for of_table, its_roots, table in parts]


def _worse(p_values: np.ndarray, roots: np.ndarray, n_methods: int) -> np.ndarray:
    """Return which methods are significantly worse than which (M, M), from the p values and roots of all pairs."""
    first, second = np.triu_indices(n_methods, 1)
    worse = np.zeros((n_methods, n_methods), bool)
    worse[first, second] = (p_values <= ALPHA) & (roots.sum(axis=0) > 0)
    worse[second, first] = (p_values <= ALPHA) & (roots.sum(axis=0) < 0)
    return worse


def _differences(losses: np.ndarray) -> np.ndarray:
    """Return finite differences (D, P) of losses (D, M), as `compare` says."""
    first, second = np.triu_indices(losses.shape[1], 1)
    losses = np.where(np.isnan(losses), inf, losses)
    with np.errstate(invalid="ignore"):
        differences = losses[:, first] - losses[:, second]
        sizes = np.maximum(np.abs(losses[:, first]), np.abs(losses[:, second]))
        equal = np.abs(differences) <= ROUNDING * sizes
    differences[np.isnan(differences) | (equal & np.isfinite(sizes))] = 0.0  # NaN are those of two infinite losses
    infinite = np.isinf(differences)
    largest = np.abs(differences).max(axis=0, initial=0.0, where=~infinite)
    largest[largest == 0] = 1.0
    finite: np.ndarray = np.where(infinite, np.sign(differences) * largest, differences)
    return finite


def _roots(differences: np.ndarray) -> np.ndarray:
    """Return r (D, P) of differences (D, P); data sets without a difference do not count in the median."""
    sizes: np.ndarray = np.abs(differences)
    if not sizes.size:
        return sizes
    ordered = np.sort(np.ascontiguousarray(sizes.T), axis=1)
    n_zeros = (sizes == 0).sum(axis=0)  # which come first
    n_others, pairs = len(sizes) - n_zeros, np.arange(len(ordered))
    low, high = n_zeros + (n_others - 1) // 2, np.minimum(n_zeros + n_others // 2, len(sizes) - 1)
    medians = (ordered[pairs, low] + ordered[pairs, high]) / 2
    roots: np.ndarray = np.sign(differences) * np.sqrt(np.minimum(sizes, MOST_MEDIANS * medians))
    return roots


def step_down(roots: np.ndarray) -> tuple[np.ndarray, float]:
    """Return adjusted two-sided p-values (P,) and the critical value (`SignFlips.critical`).

    Args:
        roots: the signed roots r_k of the differences, for D data sets and P pairs (D, P).
    """
    n_datasets, n_pairs = roots.shape
    if not n_datasets or not n_pairs:
        return np.ones(n_pairs), inf
    scale = np.sqrt(n_datasets * np.square(roots).sum(axis=0))
    scale[scale == 0] = inf
    flips = _flips(n_datasets)
    order = np.argsort(-_statistics(flips[:AT_ONCE], roots, scale)[0], kind="stable")  # the first row is what was seen
    roots, scale = roots[:, order], scale[order]
    n_reached = np.zeros(n_pairs)
    for place in range(0, len(flips), AT_ONCE):
        flipped = _statistics(flips[place : place + AT_ONCE], roots, scale)
        largest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]  # over each pair and those after it
        if place == 0:
            seen = largest[0]
        n_reached += (largest >= seen - ROUNDING).sum(axis=0)
    p_values = np.empty(n_pairs)
    p_values[order] = np.maximum.accumulate(n_reached / len(flips))
    n_larger = int(ALPHA * len(flips))  # which the flips' maxima may exceed or reach
    if n_larger < 1:
        return p_values, inf
    left = slice(min(int((p_values <= ALPHA).sum()), n_pairs - 1), None)
    parts = [flips[place : place + AT_ONCE] for place in range(0, len(flips), AT_ONCE)]
    maxima = [_statistics(part, roots[:, left], scale[left]).max(axis=1) for part in parts]
    return p_values, float(np.sort(np.concatenate(maxima))[-n_larger])


def _statistics(flips: np.ndarray, roots: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return u (F, P) of P pairs after each of F sign flips."""
    statistics: np.ndarray = np.abs(flips @ roots) / scale
    return statistics


@lru_cache(maxsize=64)
def _flips(n_datasets: int) -> np.ndarray:
    """Return signs (F, D), the first row all ones: all sign patterns up to mirror images, or as many at random."""
    if 2 ** (n_datasets - 1) <= MOST_FLIPS:
        return np.array([(1.0, *signs) for signs in product((1.0, -1.0), repeat=n_datasets - 1)])
    flips = np.random.default_rng(0).choice([1.0, -1.0], (MOST_FLIPS, n_datasets))
    flips[0] = 1  # so that the test is exact with random flips too (Phipson and Smyth 2010)
    return flips


def _shifts(differences: np.ndarray, target: float) -> np.ndarray:
    """Return the constants (P,) that, added to each pair's centred differences, give the statistic u = `target`."""
    residuals = differences - differences.mean(axis=0)

    def reached(shifts: np.ndarray) -> np.ndarray:
        roots = _roots(residuals + shifts)
        scale = np.sqrt(len(roots) * np.square(roots).sum(axis=0))
        return np.asarray(roots.sum(axis=0) >= target * scale)

    low: np.ndarray = np.zeros(residuals.shape[1])
    high: np.ndarray = np.abs(residuals).max(axis=0)
    for _ in range(60):
        enough = reached(high)
        if enough.all():
            break
        high = np.where(enough, high, 2 * high)
    for _ in range(40):
        middle = (low + high) / 2
        enough = reached(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
