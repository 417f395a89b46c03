"""Claims without numbers, against SciPy's paired test and simulations."""

from math import inf

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.leaderboards.replications.claims import JudgedClaim, judge_claim, tally_of
from lockstep_bench.shared.papers.entries import Claim

BELOW = Claim("a has a lower NMLL than b", "nmll", "a", "below", "b")
ABOVE = Claim("a has a higher NMLL than b", "nmll", "a", "above", "b")
NEAR = Claim("a is within 0.5 of b", "nmll", "a", "within", "b", margin=0.5)


def splits(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def verdicts(left: dict, right: dict) -> list[str]:
    return [judge_claim(claim, "energy", left, right).verdict for claim in (BELOW, ABOVE, NEAR)]


def test_claim_verdict_equals_scipys_paired_test():
    rng = np.random.default_rng(0)
    for left, right in rng.normal(size=(200, 2, 7)) + rng.normal(size=(200, 2, 1)):
        wanted = stats.ttest_rel(left, right).confidence_interval()
        verdict = "holds" if wanted.high < 0 else "contradicted" if wanted.low > 0 else "undecided"
        assert judge_claim(BELOW, "energy", splits(*left), splits(*right)).verdict == verdict


def test_overlapping_splits_widen_the_interval():
    left, right = splits(1.0, 1.2, 1.1, 0.9, 1.0), splits(1.3, 1.4, 1.2, 1.2, 1.5)
    alone, shared = (judge_claim(BELOW, "energy", left, right, ratio) for ratio in (0.0, 1.0))
    assert (alone.verdict, shared.verdict) == ("holds", "undecided")
    assert shared.stderr == pytest.approx(alone.stderr * 6**0.5)  # 1 / 5 + 1 in the place of 1 / 5


def test_confidence_interval_excluding_zero_decides_the_claim():
    base = splits(1.0, 5.0, 3.0)
    assert verdicts(base, splits(2.0, 6.1, 3.9)) == ["holds", "contradicted", "contradicted"]
    assert verdicts(splits(2.0, 6.1, 3.9), base) == ["contradicted", "holds", "contradicted"]


def test_confidence_interval_including_zero_is_undecided():
    assert verdicts(splits(1.0, 2.0, 3.0), splits(2.0, 1.0, 3.5)) == ["undecided"] * 3


def test_interval_inside_the_margin_supports_equality():
    assert verdicts(splits(1.0, 2.0, 3.0), splits(1.1, 1.9, 3.0)) == ["undecided", "undecided", "holds"]


def test_single_split_decides_beyond_ten_percent():
    assert verdicts(splits(1.0), splits(1.05)) == ["undecided", "undecided", "holds"]
    assert verdicts(splits(1.0), splits(1.2)) == ["holds", "contradicted", "holds"]
    assert verdicts(splits(1.0), splits(2.0)) == ["holds", "contradicted", "contradicted"]


def test_methods_are_compared_on_shared_splits_only():
    test = judge_claim(BELOW, "energy", {0: 1.0, 1: 2.0, 2: 9.0}, {0: 2.0, 1: 3.1, 3: 0.0})
    assert (test.verdict, test.n, test.missing) == ("holds", 2, 2)
    assert judge_claim(BELOW, "energy", {0: 1.0}, {1: 2.0}).verdict == "not run"


def test_claim_about_a_constant_uses_every_split():
    claim = Claim("a is above 3e-3", "sd", "a", "above", value=3e-3)
    assert judge_claim(claim, "mnist", splits(5e-3, 6e-3, 5.5e-3), {}).verdict == "holds"


def test_infinite_loss_contradicts_the_claim():
    assert verdicts(splits(inf, 1.0, 1.0), splits(1.0, 2.0, 2.0))[0] == "contradicted"


def test_equal_methods_differ_in_five_percent_of_simulations():
    rng = np.random.default_rng(3)
    pairs = rng.normal(size=(600, 2, 5))
    decided = [judge_claim(BELOW, "energy", splits(*a), splits(*b)).verdict != "undecided" for a, b in pairs]
    assert 0.03 < np.mean(decided) < 0.07


@pytest.fixture
def judged():
    tests = {
        "holds": judge_claim(BELOW, "x", splits(1.0, 1.0), splits(2.0, 2.1)),
        "contradicted": judge_claim(BELOW, "x", splits(2.0, 2.1), splits(1.0, 1.0)),
        "undecided": judge_claim(BELOW, "x", splits(1.0, 1.0), splits(1.0, 1.0)),
        "once": judge_claim(BELOW, "x", splits(1.0), splits(2.0)),
        "not run": judge_claim(BELOW, "x", {}, {}),
    }
    return lambda *names: JudgedClaim(BELOW, tuple(tests[name] for name in names))


@pytest.mark.parametrize(
    ("tests", "verdict", "words"),
    [
        (["holds", "holds"], "holds", "holds on 2 of 2 data sets"),
        (["holds", "undecided"], "holds in part", "holds on 1 of 2 data sets, undecided on 1"),
        (["holds", "holds", "contradicted"], "mixed", "holds on 2 of 3 data sets, contradicted on 1"),
        (["contradicted", "undecided"], "contradicted", "contradicted on 1 of 2 data sets, undecided on 1"),
        (["undecided", "not run"], "undecided", "undecided"),
        (["once"], "holds", "holds (one run)"),
        (["not run"], "not run", "not run"),
    ],
)
def test_verdicts_of_data_sets_combine_into_one(judged, tests, verdict, words):
    assert (judged(*tests).verdict, judged(*tests).in_words) == (verdict, words)


def test_tally_counts_only_claims_that_were_run(judged):
    claims = [judged("holds"), judged("holds", "holds"), judged("contradicted"), judged("not run")]
    assert tally_of(claims) == {"holds": "2 hold", "contradicted": "1 contradicted"}
