"""Rules for measured and published numbers, against SciPy and simulations whose truth is known."""

from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.leaderboards.replications.judgement import (
    Estimate,
    Judgement,
    estimate,
    family_wise,
    judge,
    judge_ratio,
)


def test_difference_uses_the_joint_standard_error():
    judged = judge(Estimate(2.6, 0.03, 20), Estimate(2.5, 0.04, 20))
    assert judged.difference == pytest.approx(2.0)
    assert judge(Estimate(2.5999, 0.03, 20), Estimate(2.5, 0.04, 20)).verdict == "agrees"
    assert judge(Estimate(2.6001, 0.03, 20), Estimate(2.5, 0.04, 20)).verdict == "differs"
    assert judge(Estimate(2.3999, 0.03, 20), Estimate(2.5, 0.04, 20)).difference < -2


def test_p_value_equals_welchs_test():
    ours, theirs = np.array([1.0, 2.0, 4.0, 7.0]), np.array([0.0, 0.5, 0.2])
    judged = judge(estimate(ours, "mean"), estimate(theirs, "mean"))
    wanted = stats.ttest_ind(ours, theirs, equal_var=False)
    assert (judged.difference, judged.p_value) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_single_published_run_counts_as_a_new_observation():
    # Student's t of a new observation: (mean - y) / (sd sqrt(1 + 1 / n)).
    ours = np.array([1.0, 2.0, 4.0, 7.0])
    judged = judge(estimate(ours, "mean"), Estimate(9.0))
    wanted = (ours.mean() - 9.0) / (ours.std(ddof=1) * sqrt(1 + 1 / 4))
    assert judged.difference == pytest.approx(wanted)
    assert judged.p_value == pytest.approx(2 * stats.t.sf(abs(wanted), df=3))
    assert judged.rule == "single"
    assert judge(estimate(ours, "mean"), Estimate(9.0, n=1)) == judged


def test_published_mean_without_error_gets_our_spread():
    ours = np.array([1.0, 2.0, 4.0, 7.0])
    judged = judge(estimate(ours, "mean"), Estimate(9.0, n=16))
    assert judged.difference == pytest.approx((3.5 - 9.0) / (ours.std(ddof=1) * sqrt(1 / 4 + 1 / 16)))
    assert judged.rule == "spread"


def test_published_median_is_assigned_our_number_of_splits():
    ours = estimate(np.arange(5.0), "median")
    judged = judge(ours, Estimate(1.0), "median")
    assert judged.difference == pytest.approx(1.0 / (sqrt(2) * ours.stderr))


def test_single_measured_run_gets_the_published_spread():
    judged = judge(Estimate(3.0, n=1), Estimate(2.0, 0.1, 9))
    assert judged.difference == pytest.approx(1.0 / (0.3 * sqrt(1 + 1 / 9)))
    assert judged.rule == "one run"


@pytest.mark.parametrize(
    ("ours", "verdict"), [(1.09, "agrees"), (0.91, "agrees"), (1.11, "differs"), (0.89, "differs")]
)
def test_numbers_without_spread_agree_within_ten_percent(ours, verdict):
    for theirs in (Estimate(1.0), Estimate(1.0, 0.1)):  # a standard error over an unknown number of runs is no spread
        judged = judge(Estimate(ours, n=1), theirs)
        assert (judged.verdict, judged.rule) == (verdict, "tolerance")
        assert isnan(judged.p_value)
    assert judge(Estimate(ours, 0.0, 5), Estimate(1.0)).verdict == verdict  # equal on all splits, as a count


def test_time_ratios_agree_within_25_percent():
    verdicts = [judge_ratio(ours, 2.0).verdict for ours in (1.49, 1.51, 2.49, 2.51)]
    assert verdicts == ["differs", "agrees", "agrees", "differs"]


@pytest.mark.parametrize(
    ("ours", "verdict"), [(1.4, "agrees"), (1.6, "undecided"), (0.4, "undecided"), (3.1, "differs")]
)
def test_large_standard_errors_give_undecided_not_agreement(ours, verdict):
    assert judge(Estimate(ours, 1.0, 20), Estimate(1.0, 0.1, 20)).verdict == verdict


def test_infinite_number_agrees_only_with_infinite_number():
    assert judge(estimate([inf, 1.0], "mean"), Estimate(2.0, 0.1, 20)).verdict == "differs"
    assert judge(estimate([inf, 1.0], "mean"), Estimate(inf, nan, 20)).verdict == "agrees"


def test_standard_error_of_median_matches_simulation():
    rng = np.random.default_rng(0)
    made = [estimate(values, "median") for values in rng.exponential(size=(300, 21))]
    spread = np.std([one.value for one in made])
    assert np.mean([one.stderr for one in made]) == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize(("n", "their_n", "known"), [(20, 20, True), (5, 1, False), (1, 10, True)])
def test_family_wise_error_rate_is_five_percent(n, their_n, known):
    rng = np.random.default_rng(1)

    def family() -> list[Judgement]:
        ours, theirs = rng.normal(2.0, 0.3, (12, n)), rng.normal(2.0, 0.3, (12, their_n))
        pairs = [(estimate(a, "mean"), estimate(b, "mean")) for a, b in zip(ours, theirs, strict=True)]
        return [judge(a, b if known else b._replace(stderr=nan, n=nan)) for a, b in pairs]

    rate = np.mean([any(family_wise(family())) for _ in range(500)])
    assert 0.02 < rate < 0.075


def test_family_wise_test_finds_wrong_numbers():
    rng = np.random.default_rng(2)
    shifts = np.array([0.0, 0.0, 1.0, 0.0, -1.0])
    ours, theirs = rng.normal(2.0, 0.3, (2, 5, 20)) + shifts[:, None] * np.array([1, 0])[:, None, None]
    judged = [judge(estimate(a, "mean"), estimate(b, "mean")) for a, b in zip(ours, theirs, strict=True)]
    assert family_wise(judged) == [False, False, True, False, True]


def test_verdicts_without_p_value_skip_holms_correction():
    judged = [judge(Estimate(1.0, n=1), Estimate(2.0)), judge(Estimate(2.0, n=1), Estimate(2.0))]
    assert family_wise(judged) == [True, False]
