"""Rates of false verdicts, covering intervals and detected differences on simulated leaderboards of known truth."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lockstep_bench.leaderboards.simulation.drawing import BoardSize, Drawn, Scenario, draw
from lockstep_bench.leaderboards.simulation.residuals import Residuals, draw_on_dataset, draw_over_datasets
from lockstep_bench.leaderboards.stats import corrected_pairs, sign_flips
from lockstep_bench.leaderboards.stats.best_probability import best_probabilities
from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean
from lockstep_bench.leaderboards.stats.verdicts import rank_sets, verdicts

EFFECT = 0.3  # set effects, in split sd
MOST_INTERVALS = 8  # of each table, as all methods have the same distribution
PLACED = ("best", "could be best", "worse")


class Kept(NamedTuple):
    """How often each guarantee of `docs/statistics.md` held in one scenario, as shares of leaderboards unless noted.

    Attributes:
        scenario: name of the scenario.
        false_over_sets: share of the leaderboards with a false verdict over data sets.
        false_on_sets: share of the data sets with a false verdict.
        difference_over_sets: share of the 95 % intervals of differences over data sets that cover the true one.
        difference_on_sets: share of the 95 % intervals of differences on one data set that cover the true one.
        rank_sets: share of the leaderboards whose confidence sets of ranks over data sets all contain the true rank.
        found_over_sets: share of the truly worse methods with the verdict "worse" over data sets; NaN without any.
        found_on_sets: share of the truly worse methods with the verdict "worse" on one data set; NaN without any.
        leader_probability: mean probability of the method that is most probably the best.
        leader_right: share of leaderboards on which that method is truly the best; NaN where all are.
    """

    scenario: str
    false_over_sets: float
    false_on_sets: float
    difference_over_sets: float
    difference_on_sets: float
    rank_sets: float
    found_over_sets: float
    found_on_sets: float
    leader_probability: float
    leader_right: float


def scenarios(gap: float, effect: float = EFFECT) -> list[Scenario]:
    """Return the scenarios that the command `simulate` runs.

    Args:
        gap: how much better the better methods are, in standard deviations over splits.
        effect: standard deviation of the interaction of method and data set, in the same unit.
    """
    return [
        Scenario("exchangeable"),
        Scenario("exchangeable, set effects", effect),
        Scenario("one better", effect, gap=gap),
        Scenario("half better", effect, gap=10 * gap, better=0.5),
        Scenario("graded", effect, grades=gap),
        Scenario("heavy tails", effect, heavy=True),
        Scenario("failures", effect, failures=0.02),
        Scenario("unequal noise", effect, unequal=1.0),
        Scenario("spread 1 to 10", effect, spread=10.0),
        Scenario("half spread 10", effect, spread=10.0, wide=0.5),
        Scenario("a sixth spread 10", effect, spread=10.0, wide=1 / 6),
        Scenario("families", effect, spread=10.0, families=6),
        Scenario("one set of huge scale", effect, scale=1000.0),
        Scenario("graded, spread 1 to 10", effect, grades=gap, spread=10.0),
    ]


def promises(scenario: Scenario, size: BoardSize, repeats: int, seed: int = 0) -> Kept:
    """Return how often each guarantee of the statistics holds on leaderboards that are drawn at random.

    Args:
        scenario: distribution that the leaderboards are drawn from.
        size: size of each leaderboard.
        repeats: number of leaderboards.
        seed: seed of the draws.
    """
    rng = np.random.default_rng(seed)
    judged = [_judged(draw(scenario, size, rng), size.ratio) for _ in range(repeats)]
    with np.errstate(invalid="ignore"):
        columns = [_mean(column) for column in zip(*judged, strict=True)]
    return Kept(scenario.name, *columns)


def promises_on_residuals(observed: Residuals, repeats: int, seed: int = 0) -> Kept:
    """Return how often verdicts are false on leaderboards of equally good methods, drawn from real residuals.

    Args:
        observed: residuals of real results.
        repeats: number of leaderboards.
        seed: seed of the draws.
    """
    rng = np.random.default_rng(seed)
    n_methods = observed.of_datasets.shape[1]
    false_over, false_on, covered = [], [], []
    for _ in range(repeats):
        worse = sign_flips.compare(draw_over_datasets(observed, rng)).worse
        false_over.append(float(worse.any()))
        low, high = rank_sets(worse)
        covered.append(float((low == 1).all() and (high == n_methods).all()))
        for k, ratio in enumerate(observed.ratios):
            false_on.append(float(corrected_pairs.all_pairs(draw_on_dataset(observed, k, rng), ratio).worse.any()))
    unknown = float("nan")
    shares = _mean(false_over), _mean(false_on), unknown, unknown, _mean(covered)
    return Kept("residuals of results", *shares, unknown, unknown, unknown, unknown)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _judged(drawn: Drawn, ratio: float) -> tuple[float, ...]:
    """Return the fields of `Kept` for one leaderboard; NaN for fields that do not apply."""
    losses, truth, on_datasets = drawn
    means = losses.mean(axis=1)  # NaN for a method that failed on a split
    failed = np.isnan(losses).any(axis=1)

    worse = sign_flips.compare(means).worse
    low, high = rank_sets(worse)
    better_methods = (truth[:, None] > truth).sum(axis=1)
    worse_methods = (truth[:, None] < truth).sum(axis=1)
    covered = (low <= 1 + better_methods) & (high >= len(truth) - worse_methods)
    over_sets = verdicts(worse, failed.any(axis=0))

    on_sets = [
        verdicts(corrected_pairs.all_pairs(part, ratio).worse, fails)
        for part, fails in zip(losses, failed, strict=True)
    ]

    reference = len(truth) - 1
    probability = best_probabilities(means, n_draws=1000)
    leader = int(np.argmax(probability))
    differs = np.ptp(truth) > 0
    return (
        _any_false(over_sets, truth),
        float(np.mean([_any_false(*pair) for pair in zip(on_sets, on_datasets, strict=True)])),
        _coverage(means, truth, reference, 0.0),
        float(np.nanmean([_coverage(*pair, reference, ratio) for pair in zip(losses, on_datasets, strict=True)])),
        float(covered.all()),
        _found(over_sets, truth),
        float(np.nanmean([_found(*pair) for pair in zip(on_sets, on_datasets, strict=True)])) if differs else np.nan,
        float(probability[leader]),
        float(truth[leader] == truth.min()) if differs else np.nan,
    )


def _any_false(verdicts_given: list[str], truth: np.ndarray) -> float:
    """Return 1 if a verdict contradicts the expected losses (M,), otherwise 0.

    "worse" is false for a method if no other is truly better, "best" if another is truly as good, and "could be best"
    if it is truly better than no other.
    """
    first, last = truth == truth.min(), truth == truth.max()
    alone = first & (first.sum() == 1)
    false = {"worse": first, "best": ~alone, "could be best": last}
    return float(any(verdict in PLACED and false[verdict][m] for m, verdict in enumerate(verdicts_given)))


def _found(verdicts_given: list[str], truth: np.ndarray) -> float:
    """Return the share of truly worse methods that have the verdict "worse"; NaN if there are none."""
    rivals = truth > truth.min()
    called = np.array([verdict == "worse" for verdict in verdicts_given])
    return float(called[rivals].mean()) if rivals.any() else float("nan")


def _coverage(values: np.ndarray, truth: np.ndarray, reference: int, ratio: float) -> float:
    """Return the share of intervals that cover the true difference to a reference; NaN without intervals."""
    covers = []
    for method in range(min(len(truth), MOST_INTERVALS)):
        interval = corrected_mean(values[:, method] - values[:, reference], ratio)
        if method != reference and not np.isnan(interval.low):
            covers.append(interval.low <= truth[method] - truth[reference] <= interval.high)
    return float(np.mean(covers)) if covers else float("nan")
