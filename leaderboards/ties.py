"""Which method is best on a data set, and which cannot be told from it.

The best method has the smallest mean loss over the splits it finished (`metrics.loss`: the metric, turned so that low
is good). Every rival is compared with it over the splits that both finished, pair by pair:

- by the two-sided Wilcoxon signed-rank test, where n pairs can reject at all: its smallest p-value is 2^(1 - n),
  and Holm's first step asks for 0.05 / m with m rivals, so with one rival it needs n >= 6;
- by the paired t test where n is smaller, which buys power by supposing that differences are normal;
- not at all with fewer than 3 pairs, or where t meets infinite differences: too few splits to tell.

The p-values of a metric on a board are adjusted by Holm's step-down method. A rival is "worse" if its adjusted p-value
is at most 0.05 and the test points the way of the means; otherwise it is "tied". (The two can disagree: one ruined
split decides a mean, not a rank test.)
"""

import numpy as np
import pandas as pd
from scipy import stats

from leaderboards.metrics import loss, metric
from leaderboards.summary import BOARD

ALPHA = 0.05
FEWEST_PAIRS = 3

STANDINGS = ("best", "tied", "worse", "undecided", "alone")


def standings(splits: pd.DataFrame) -> pd.DataFrame:
    """One row per board, metric and method: `standing`, and for rivals `p_value` (Holm's), `n_pairs` and `test`.

    `splits` is what `summary.per_split` gives. A method that nobody can be compared with is "alone". "undecided" are
    rivals that could not be tested, and everybody where all means are infinitely bad. Metrics without a better and a
    worse are left out.
    """
    rows = []
    for (*board, name), values in splits.groupby([*BOARD, "metric"]):
        goal = metric(name).goal
        if goal is None:
            continue
        losses = {
            method: pd.Series(loss(part["value"].to_numpy(), goal), part["split"])
            for method, part in values.groupby("method")
        }
        for method, verdict in _stand(losses).items():
            rows.append([*board, name, method, *verdict])
    return pd.DataFrame(rows, columns=[*BOARD, "metric", "method", "standing", "p_value", "n_pairs", "test"])


def _stand(losses: dict[str, pd.Series]) -> dict[str, tuple[str, float, int, str]]:
    """Standing, p-value, pairs and test of each method from its losses per split."""
    if len(losses) == 1:
        return dict.fromkeys(losses, ("alone", np.nan, 0, ""))
    means = {method: values.mean() for method, values in losses.items()}
    best = min(sorted(means), key=means.get)
    if not means[best] < np.inf:
        return dict.fromkeys(losses, ("undecided", np.nan, 0, ""))

    differences = {m: (v - losses[best]).dropna().to_numpy() for m, v in losses.items() if m != best}
    n_rivals = sum(len(d) >= FEWEST_PAIRS for d in differences.values())
    tests = {method: paired_test(d, n_rivals) for method, d in differences.items()}
    adjusted = holm(np.array([p for p, _, _ in tests.values()]))

    verdicts = {best: ("best", np.nan, 0, "")}
    for (method, (_, sign, test)), p in zip(tests.items(), adjusted, strict=True):
        standing = "undecided" if np.isnan(p) else "worse" if p <= ALPHA and sign > 0 else "tied"
        verdicts[method] = (standing, p, len(differences[method]), test)
    return verdicts


def paired_test(differences: np.ndarray, n_rivals: int) -> tuple[float, float, str]:
    """p-value, sign and name ("wilcoxon", "t" or "") of the test that `differences` (n,) centre on 0."""
    n = len(differences)
    if n < FEWEST_PAIRS:
        return np.nan, 0.0, ""
    if 2.0 ** (1 - n) <= ALPHA / n_rivals:
        if not differences.any():
            return 1.0, 0.0, "wilcoxon"
        ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
        return float(stats.wilcoxon(differences).pvalue), np.sign(ranks.sum()), "wilcoxon"
    if not np.isfinite(differences).all():
        return np.nan, 0.0, ""
    sign = np.sign(differences.mean())
    if np.ptp(differences) == 0:  # no spread, for which t is 0/0 or infinite
        return (0.0 if sign else 1.0), sign, "t"
    return float(stats.ttest_1samp(differences, 0.0).pvalue), sign, "t"


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values (Holm 1979): of the sorted p_(1) <= ... <= p_(m), max_{j <= i} (m - j + 1) p_(j).

    NaN stays NaN and does not count in m.
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    ordered = tested[np.argsort(p_values[tested], kind="stable")]
    steps = np.arange(len(ordered), 0, -1) * p_values[ordered]
    adjusted[ordered] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
