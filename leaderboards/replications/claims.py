"""The rules by which results support or contradict a paper's claim, such as "method a has a lower NMLL than b".

A claim compares a metric of a left method with that of a right method, or with a constant, on each of its data sets.
The 95 % interval of the mean of the paired differences left - right over shared splits decides: d ± t s, with s the
standard error, which allows for the rows that splits share (`leaderboards.stats.corrected_t`), and t the quantile of
Student's distribution, which is 2.1 for 20 splits. Each test has the level 5 %, without a correction for their number.

The claim that left is below right holds if the interval is below 0, is contradicted if it is above 0, and is undecided
otherwise. The claim that both are within a margin holds if the interval is inside ± the margin, and is contradicted if
it is outside.

A single shared split has no interval. The claim is then decided if the two values differ by more than 10 % of the right
one. A claim about a margin is decided by whether the difference is inside the margin.
"""

from collections.abc import Mapping, Sequence
from math import inf, isinf, isnan, nan
from typing import NamedTuple

import numpy as np

from lockstep_bench.leaderboards.replications.judgement import TOLERANCE
from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean
from lockstep_bench.leaderboards.wording.formats import counted
from lockstep_bench.shared.papers.entries import Claim

HOLDS, CONTRADICTED, UNDECIDED, NOT_RUN = "holds", "contradicted", "undecided", "not run"
IN_PART, MIXED = "holds in part", "mixed"  # over several data sets


class ClaimTest(NamedTuple):
    """The test of a claim on one data set.

    Attributes:
        dataset: name of the data set.
        verdict: `HOLDS`, `CONTRADICTED`, `UNDECIDED` or `NOT_RUN`.
        n: number of shared splits.
        left: mean of the left method over these splits.
        right: mean of the right method over these splits, or the constant.
        difference: mean of left - right.
        stderr: corrected standard error of the difference; NaN for a single split.
        missing: number of splits on which one of the two methods has a value and the other failed.
    """

    dataset: str
    verdict: str
    n: int
    left: float
    right: float
    difference: float
    stderr: float
    missing: int


class JudgedClaim(NamedTuple):
    """A claim of a paper and its tests, one per data set."""

    claim: Claim
    tests: tuple[ClaimTest, ...]

    @property
    def verdict(self) -> str:
        """Return one verdict over all data sets.

        Data sets where the claim was not run do not count. The claim

        - holds if it holds on all data sets;
        - holds in part if it holds on some and is undecided on the others;
        - is mixed if it holds on some and is contradicted on some;
        - is contradicted if it is contradicted on some and holds on none;
        - is undecided if it is undecided on all;
        - is not run if no data set is left.
        """
        count = self._count()
        if not self._run():
            return NOT_RUN
        if count[CONTRADICTED]:
            return MIXED if count[HOLDS] else CONTRADICTED
        if not count[HOLDS]:
            return UNDECIDED
        return IN_PART if count[UNDECIDED] else HOLDS

    @property
    def in_words(self) -> str:
        """Return on how many data sets the claim has which verdict: "holds on 5 of 6 data sets, contradicted on 1"."""
        count, n = self._count(), self._run()
        if not n:
            return NOT_RUN
        once = " (one run)" if all(test.n == 1 for test in self.tests if test.verdict != NOT_RUN) else ""
        present = [verdict for verdict in (HOLDS, CONTRADICTED, UNDECIDED) if count[verdict]]
        if n == 1:
            return present[0] + once
        first, *others = [f"{verdict} on {count[verdict]}" for verdict in present]
        return ", ".join([f"{first} of {counted(n, 'data set')}", *others]) + once

    def _count(self) -> dict[str, int]:
        verdicts = [test.verdict for test in self.tests]
        return {name: verdicts.count(name) for name in (HOLDS, CONTRADICTED, UNDECIDED, NOT_RUN)}

    def _run(self) -> int:
        return sum(test.verdict != NOT_RUN for test in self.tests)


def judge_claim(
    claim: Claim, dataset: str, left: Mapping[int, float], right: Mapping[int, float], ratio: float = 0.0
) -> ClaimTest:
    """Return the test of a claim on one data set.

    Args:
        claim: what is claimed.
        dataset: name of the data set.
        left: metric of the left method by split, for the splits that finished.
        right: metric of the right method by split; not read where the claim names a constant.
        ratio: n_test / n_train, which measures how much splits depend on each other (`leaderboards.stats.dependence`).
    """
    other = dict.fromkeys(left, claim.value) if claim.value is not None else right
    shared = sorted(left.keys() & other.keys())
    missing = len(left.keys() ^ other.keys()) if shared else 0
    pairs = np.array([(left[split], other[split]) for split in shared], float).reshape(-1, 2)
    with np.errstate(invalid="ignore"):
        differences = pairs[:, 0] - pairs[:, 1]
    pairs, differences = pairs[~np.isnan(differences)], differences[~np.isnan(differences)]
    if not len(differences):
        return ClaimTest(dataset, NOT_RUN, 0, nan, nan, nan, nan, missing)
    found = corrected_mean(differences, ratio)
    ours, theirs = pairs.mean(axis=0).tolist()
    if found.n == 1:
        verdict = _one_run(claim, found.mean, theirs)
    elif isinf(found.mean):
        verdict = _verdict(claim, found.mean, found.mean)
    else:
        verdict = _verdict(claim, found.low, found.high)
    return ClaimTest(dataset, verdict, found.n, ours, theirs, found.mean, found.stderr, missing)


def tally_of(claims: Sequence[JudgedClaim]) -> dict[str, str]:
    """Return how many claims have each verdict, as in {"holds": "2 hold"}, without those that were not run."""
    plurals = {HOLDS: "hold", IN_PART: "hold in part"}
    verdicts = [claim.verdict for claim in claims]
    counts = {name: verdicts.count(name) for name in (HOLDS, IN_PART, MIXED, CONTRADICTED, UNDECIDED)}
    return {name: counted(n, name, plurals.get(name, name)) for name, n in counts.items() if n}


def _verdict(claim: Claim, low: float, high: float) -> str:
    if claim.relation == "within":
        margin = claim.margin if claim.margin is not None else nan
        if -margin <= low and high <= margin:
            return HOLDS
        return CONTRADICTED if low > margin or high < -margin else UNDECIDED
    below, above = high < 0, low > 0
    holds, fails = (below, above) if claim.relation == "below" else (above, below)
    return HOLDS if holds else CONTRADICTED if fails else UNDECIDED


def _one_run(claim: Claim, difference: float, right: float) -> str:
    """Return the verdict on a claim if there is only a single shared split."""
    reach = 0.0 if claim.relation == "within" else TOLERANCE * abs(right)
    if isnan(reach) or reach == inf:
        reach = 0.0
    return _verdict(claim, difference - reach, difference + reach)
