"""Which method is best on a data set, and which cannot be told from it.

The best method has the smallest mean loss (`metrics.loss`: the metric, turned so that low is good) over the splits that
all were tried on, among the methods that have a value on each of these; a failure cannot make a mean better. Every
rival is compared with it over the splits that both finished, pair by pair:

- by the two-sided Wilcoxon signed-rank test, where n pairs can reject at all: its smallest p-value is 2^(1 - n),
  and Holm's first step asks for 0.05 / m with m rivals, so with one rival it needs n >= 6;
- by the paired t test where n is smaller, which buys power by supposing that differences are normal;
- not at all with fewer than 3 pairs, or where t meets infinite differences: too few splits to tell.

The p-values of a metric on a board are adjusted by Holm's step-down method. A rival is "worse" if its adjusted p-value
is at most 0.05 and the test points the way of the means; otherwise it is "tied", or "lacking" if it was tried on
splits that it has no value for. (Test and means can disagree: one ruined split decides a mean, not a rank test.)
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from leaderboards.metrics import loss, metric
from leaderboards.stats.summary import BOARD

ALPHA = 0.05
FEWEST_PAIRS = 3
MOST_ENUMERATED = 13  # pairs: 8192 signs

STANDINGS = ("best", "tied", "lacking", "worse", "undecided", "alone")


class Tests(NamedTuple):
    """What R paired tests found; every attribute is an array (R,).

    Attributes:
        p_value: two-sided, unadjusted; NaN where nothing could be tested.
        sign: where differences lie by what the test looks at: 1 above 0, -1 below.
        name: "wilcoxon", "t" or "".
    """

    p_value: np.ndarray
    sign: np.ndarray
    name: np.ndarray


def standings(splits: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """One row per board, metric and method: `standing`, and for rivals `p_value` (Holm's), `n_pairs` and `test`.

    `splits` is what `summary.per_split` gives of `cells`. A method that nobody can be compared with is "alone".
    "undecided" are rivals that could not be tested, and everybody where all means are infinitely bad or nobody has a
    value everywhere. Metrics without a better and a worse are left out.
    """
    tries = dict(list(cells[[*BOARD, "method", "split"]].groupby(BOARD)))
    rows = []
    for board, part in splits.groupby(BOARD):
        for name, methods, values, tried in _by_metric(part, tries[board]):
            goal = metric(name).goal
            if goal is not None:
                verdicts = zip(methods, *_stand(values, tried, goal), strict=True)
                rows += [[*board, name, method, *verdict] for method, *verdict in verdicts]
    return pd.DataFrame(rows, columns=[*BOARD, "metric", "method", "standing", "p_value", "n_pairs", "test"])


def _by_metric(part: pd.DataFrame, tries: pd.DataFrame) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Of one board, by metric: the M methods that have it, values (S, M), NaN without one, and who was tried (S, M)."""
    methods, numbers, metrics = (
        np.sort(column.unique()) for column in (tries["method"], tries["split"], part["metric"])
    )
    tried = np.zeros((len(numbers), len(methods)), bool)
    tried[_codes(tries["split"], numbers), _codes(tries["method"], methods)] = True
    values = np.full((len(metrics), *tried.shape), np.nan)
    where = (_codes(part["metric"], metrics), _codes(part["split"], numbers), _codes(part["method"], methods))
    values[where] = part["value"]
    for name, wide in zip(metrics, values, strict=True):
        has = ~np.isnan(wide).all(axis=0)
        yield name, methods[has], wide[:, has], tried[:, has]


def _codes(column: pd.Series, values: np.ndarray) -> np.ndarray:
    return pd.Categorical(column, categories=values).codes


def _stand(values: np.ndarray, tried: np.ndarray, goal: str | float) -> tuple[np.ndarray, ...]:
    """Standing, p-value, pairs and test of each of M methods from values and tries (S, M)."""
    n_methods = values.shape[1]
    standing = np.full(n_methods, "undecided", object)
    p_value, n_pairs, name = np.full(n_methods, np.nan), np.zeros(n_methods, int), np.full(n_methods, "", object)
    if n_methods == 1:
        standing[:] = "alone"
        return standing, p_value, n_pairs, name
    losses = np.column_stack([_loss(column, goal) for column in values.T])
    known = ~np.isnan(losses)
    considered = tried.all(axis=1) & known.any(axis=1)
    lacking = (tried & ~known)[known.any(axis=1)].any(axis=0)
    if considered.any():
        means = np.where(known[considered].all(axis=0), losses[considered].mean(axis=0), np.inf)
    else:  # no split that all were tried on: each by its own
        means = np.where(lacking, np.inf, np.nanmean(losses, axis=0))
    best = int(np.argmin(means))
    if not means[best] < np.inf:
        return standing, p_value, n_pairs, name

    rivals = np.arange(n_methods) != best
    with np.errstate(invalid="ignore"):  # two infinities are no pair
        differences = losses[:, rivals] - losses[:, [best]]
    pairs = (~np.isnan(differences)).sum(axis=0)
    tests = paired_tests(differences, n_rivals=int((pairs >= FEWEST_PAIRS).sum()))
    adjusted = holm(tests.p_value)
    close = np.where(lacking[rivals], "lacking", "tied")
    verdict = np.where((adjusted <= ALPHA) & (tests.sign > 0), "worse", close)
    standing[rivals] = np.where(np.isnan(adjusted), "undecided", verdict)
    standing[best] = "best"
    p_value[rivals], n_pairs[rivals], name[rivals] = adjusted, pairs, tests.name
    return standing, p_value, n_pairs, name


def _loss(column: np.ndarray, goal: str | float) -> np.ndarray:
    known = ~np.isnan(column)
    found = column.copy()
    found[known] = loss(column[known], goal)
    return found


def tied_with_best(differences: np.ndarray) -> np.ndarray:
    """For R rivals, from their losses less the best's (n, R): 1.0 if tied, 0.0 if worse, NaN if that was not tested."""
    tests = paired_tests(differences, n_rivals=differences.shape[1])
    p_value = holm(tests.p_value)
    worse = (p_value <= ALPHA) & (tests.sign > 0)
    return np.where(np.isnan(p_value), np.nan, ~worse)


def paired_tests(differences: np.ndarray, n_rivals: int) -> Tests:
    """R tests that `differences` (n, R) centre on 0; NaN is no pair."""
    n_tests = differences.shape[1]
    found = Tests(np.full(n_tests, np.nan), np.zeros(n_tests), np.full(n_tests, "", object))
    pairs = (~np.isnan(differences)).sum(axis=0)
    for n in np.unique(pairs[pairs >= FEWEST_PAIRS]):
        where = np.flatnonzero(pairs == n)
        paired = differences[:, where].T
        paired = paired[~np.isnan(paired)].reshape(len(where), n)
        if 2.0 ** (1 - n) <= ALPHA / n_rivals:
            found.name[where] = "wilcoxon"
            found.p_value[where], found.sign[where] = _wilcoxon(paired)
            continue
        finite = np.isfinite(paired).all(axis=1)
        found.name[where[finite]] = "t"
        found.p_value[where[finite]], found.sign[where[finite]] = _t(paired[finite])
    return found


def _wilcoxon(paired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two-sided p-values and signs (R,) of differences (R, n), n >= 6. Zeros are left out.

    Rows without zeros and ties: exact up to 50 pairs. Other rows: exact up to 13 pairs, over all 2^n signs. Beyond
    these, the normal approximation. These are SciPy's own choices for one row; for an array, SciPy chooses once, and
    its permutations of signed ranks take seconds per row because they rank every permutation anew.
    """
    sizes = np.abs(paired)
    sign = np.sign((stats.rankdata(sizes, axis=1) * np.sign(paired)).sum(axis=1))
    p_value = np.ones(len(paired))
    ordered = np.sort(sizes, axis=1)
    plain = (ordered[:, 0] > 0) & (ordered[:, 1:] > ordered[:, :-1]).all(axis=1)
    tied = ~plain & (sizes > 0).any(axis=1)
    if plain.any():
        p_value[plain] = stats.wilcoxon(paired[plain], axis=1).pvalue
    if tied.any() and paired.shape[1] > MOST_ENUMERATED:
        p_value[tied] = stats.wilcoxon(paired[tied], axis=1, method="asymptotic").pvalue
    elif tied.any():
        nonzero = np.where(sizes > 0, sizes, np.nan)[tied]
        signed_ranks = np.nan_to_num(stats.rankdata(nonzero, axis=1, nan_policy="omit")) * np.sign(paired[tied])
        p_value[tied] = stats.permutation_test(
            (signed_ranks,), np.sum, permutation_type="samples", vectorized=True, axis=1
        ).pvalue
    return p_value, sign


def _t(paired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p-values and signs (R,) of finite differences (R, n)."""
    sign = np.sign(paired.mean(axis=1))
    constant = np.ptp(paired, axis=1) == 0  # no spread, for which t is 0/0 or infinite
    p_value = np.where(sign == 0, 1.0, 0.0)
    if not constant.all():
        p_value[~constant] = stats.ttest_1samp(paired[~constant], 0.0, axis=1).pvalue
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
