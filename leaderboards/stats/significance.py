"""Paired significance tests, many at once, and Holm's adjustment of their p-values.

A test of n paired differences is

- the two-sided Wilcoxon signed-rank test, if n pairs can reject at all. Its smallest p-value is 2^(1 - n), and Holm's
  first step with m rivals requires 0.05 / m, so with one rival it needs n >= 6;
- the paired t test for smaller n, which assumes that the differences are normal;
- none with fewer than 3 pairs, or for a t test with infinite differences.
"""

from typing import NamedTuple

import numpy as np
import scipy

ALPHA = 0.05
FEWEST_PAIRS = 3
MOST_ENUMERATED = 13  # pairs: 8192 signs


class Tests(NamedTuple):
    """Results of R paired tests; every attribute is an array (R,).

    Attributes:
        p_value: two-sided, unadjusted; NaN where nothing was tested.
        sign: 1 if the differences lie above 0 by the test's own statistic, -1 if below, 0 if neither.
        name: "wilcoxon", "t" or "" where nothing was tested.
    """

    p_value: np.ndarray
    sign: np.ndarray
    name: np.ndarray


def paired_tests(differences: np.ndarray, n_rivals: int) -> Tests:
    """Return R tests that paired differences centre on 0.

    Args:
        differences: one column per test (n, R); NaN where there is no pair.
        n_rivals: number m of tests that Holm's method will adjust together, which decides between the tests.
    """
    n_tests = differences.shape[1]
    tests = Tests(np.full(n_tests, np.nan), np.zeros(n_tests), np.full(n_tests, "", object))
    pairs = (~np.isnan(differences)).sum(axis=0)
    for n in np.unique(pairs[pairs >= FEWEST_PAIRS]):
        where = np.flatnonzero(pairs == n)
        paired = differences[:, where].T
        paired = paired[~np.isnan(paired)].reshape(len(where), n)
        if 2.0 ** (1 - n) <= ALPHA / n_rivals:
            tests.name[where] = "wilcoxon"
            tests.p_value[where], tests.sign[where] = _wilcoxon(paired)
            continue
        finite = np.isfinite(paired).all(axis=1)
        tests.name[where[finite]] = "t"
        tests.p_value[where[finite]], tests.sign[where[finite]] = _t(paired[finite])
    return tests


def _wilcoxon(paired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two-sided p-values and signs, (R,) each, of differences (R, n), n >= 6. Zeros are left out.

    Rows without zeros and ties: exact up to 50 pairs. Other rows: exact up to 13 pairs, over all 2^n signs. Beyond
    these, the normal approximation. These are SciPy's own choices for one row; for an array, SciPy chooses once, and
    its permutations of signed ranks take seconds per row because they rank every permutation anew.
    """
    sizes = np.abs(paired)
    sign = np.sign((scipy.stats.rankdata(sizes, axis=1) * np.sign(paired)).sum(axis=1))
    p_value = np.ones(len(paired))
    ordered = np.sort(sizes, axis=1)
    plain = (ordered[:, 0] > 0) & (ordered[:, 1:] > ordered[:, :-1]).all(axis=1)
    tied = ~plain & (sizes > 0).any(axis=1)
    if plain.any():
        p_value[plain] = scipy.stats.wilcoxon(paired[plain], axis=1).pvalue
    if tied.any() and paired.shape[1] > MOST_ENUMERATED:
        # The stubs still call this method "approx", its former name.
        asymptotic = scipy.stats.wilcoxon(paired[tied], axis=1, method="asymptotic")  # type: ignore[call-overload]
        p_value[tied] = asymptotic.pvalue
    elif tied.any():
        nonzero = np.where(sizes > 0, sizes, np.nan)[tied]
        signed_ranks = np.nan_to_num(scipy.stats.rankdata(nonzero, axis=1, nan_policy="omit")) * np.sign(paired[tied])
        p_value[tied] = scipy.stats.permutation_test(
            (signed_ranks,), np.sum, permutation_type="samples", vectorized=True, axis=1
        ).pvalue
    return p_value, sign


def _t(paired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two-sided p-values and signs, (R,) each, of finite differences (R, n)."""
    sign = np.sign(paired.mean(axis=1))
    constant = np.ptp(paired, axis=1) == 0  # no spread, for which t is 0/0 or infinite
    p_value = np.where(sign == 0, 1.0, 0.0)
    if not constant.all():
        p_value[~constant] = scipy.stats.ttest_1samp(paired[~constant], 0.0, axis=1).pvalue
    return p_value, sign


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return Holm's adjusted p-values (Holm 1979): for sorted p_(1) <= ... <= p_(m), max_{j <= i} (m - j + 1) p_(j).

    NaN stays NaN and does not count in m. statsmodels' `multipletests` gives the same numbers, but it collects garbage
    at every call, which costs a tenth of a second; a site adjusts hundreds of families.
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    ordered = tested[np.argsort(p_values[tested], kind="stable")]
    steps = np.arange(len(ordered), 0, -1) * p_values[ordered]
    adjusted[ordered] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
