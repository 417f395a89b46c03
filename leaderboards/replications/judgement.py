"""The rules by which a measured number agrees with a published one.

A difference is measured minus published, in joint standard errors, and agrees within `WITHIN` = 2 of them:

    d = (ours - theirs) / sqrt(ours' stderr^2 + theirs' stderr^2)

It is undecided where d is within 2 only because the standard errors are large: where the two are more than half of the
published number apart.

The standard error of a mean of n splits is sd / sqrt(n); that of a median is Maritz and Jarrett's (1978), which is the
bootstrap's in closed form and assumes no distribution. A number without a standard error gets one from the other's
spread: with stderr s over n splits on one side and m splits on the other, s sqrt(n / m). For a mean and a single run, m
= 1, d is then the t statistic of a new observation, (mean - theirs) / (sd sqrt(1 + 1 / n)). If a paper does not say
over how many runs it took a number, a mean counts as a single run, and a median as taken over as many splits as ours.

Its two-sided p-value is that of Student's t, with Welch and Satterthwaite's degrees of freedom where both standard
errors were measured, and with those of the one that was measured where only one was. Where neither is known, the two
agree within 10 % of the published value; ratios of times, which depend on the machine, within 25 %.

With many comparisons some differ by chance. `family_wise` adjusts the p-values of one table or figure by Holm's method:
if all published numbers are replicated, the probability that any of them is called different is at most 5 %.
"""

from collections.abc import Sequence
from math import hypot, inf, isfinite, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from lockstep_bench.leaderboards.stats.significance import ALPHA, holm

WITHIN = 2.0  # joint standard errors
TOLERANCE, TOLERANCE_OF_RATIOS = 0.10, 0.25  # of the published value
FARTHEST = 0.5  # of the published value, for numbers that agree within their errors

AGREES, DIFFERS, UNDECIDED = "agrees", "differs", "undecided"

# How a pair was judged, in words that follow a verdict; "" for the usual way.
RULES = {
    "joint": "",
    "spread": "the paper gives no standard error: taken from our spread",
    "single": "the paper has a single run: judged by the spread of ours",
    "one run": "one run here: judged by the paper's spread",
    "tolerance": "no spread is known: within 10 % agrees",
    "ratio": "ratio of times: within 25 % agrees",
    "infinite": "infinite",
}


class Estimate(NamedTuple):
    """A mean, median or ratio with its standard error.

    Attributes:
        value: the estimate.
        stderr: standard error of the value; NaN if unknown.
        n: number of splits or runs behind it; NaN if unknown.
    """

    value: float
    stderr: float = nan
    n: float = nan


class Judgement(NamedTuple):
    """The outcome of comparing a measured number with a published one.

    Attributes:
        verdict: `AGREES`, `DIFFERS` or `UNDECIDED`.
        difference: measured minus published in joint standard errors; NaN where the rule has none.
        relative: measured minus published, divided by the published number's size; NaN for a published 0.
        p_value: two-sided p-value of the difference; NaN where the rule has none.
        rule: name of the rule that was applied, one of `RULES`.
    """

    verdict: str
    difference: float
    relative: float
    p_value: float
    rule: str


def estimate(values: Sequence[float], statistic: str) -> Estimate:
    """Return the mean or median of one value per split, with its standard error; NaN for fewer than two splits.

    Args:
        values: at least one value.
        statistic: "mean" or "median".
    """
    array = np.asarray(values, float)
    n = len(array)
    if statistic == "median":
        value = float(np.median(array))
        finite = n > 1 and np.isfinite(array).all()
        return Estimate(value, float(scipy.stats.mstats.mjci(array, [0.5])[0]) if finite else nan, n)
    value = float(array.mean())
    return Estimate(value, float(array.std(ddof=1)) / sqrt(n) if n > 1 and isfinite(value) else nan, n)


def judge(ours: Estimate, theirs: Estimate, statistic: str = "mean") -> Judgement:
    """Return the judgement of a measured and a published mean or median.

    Args:
        ours: measured estimate, over a known number of splits.
        theirs: published estimate.
        statistic: "mean" or "median", the statistic of both estimates.
    """
    relative = _relative(ours.value, theirs.value)
    if not (isfinite(ours.value) and isfinite(theirs.value)):
        return Judgement(AGREES if ours.value == theirs.value else DIFFERS, nan, relative, nan, "infinite")
    joint, freedom, rule = _joint(ours, theirs, statistic)
    if not joint > 0:
        return _within(relative, ours.value - theirs.value, TOLERANCE, "tolerance")
    difference = (ours.value - theirs.value) / joint
    verdict = DIFFERS if abs(difference) > WITHIN else UNDECIDED if abs(relative) > FARTHEST else AGREES
    return Judgement(verdict, difference, relative, _two_sided(difference, freedom), rule)


def judge_ratio(ours: float, theirs: float) -> Judgement:
    """Return the judgement of a measured and a published ratio of times."""
    return _within(_relative(ours, theirs), ours - theirs, TOLERANCE_OF_RATIOS, "ratio")


def family_wise(judgements: Sequence[Judgement]) -> list[bool]:
    """Return for each judgement whether its numbers differ significantly after Holm's correction for all of them.

    Judgements without a p-value are not adjusted: their numbers differ if the verdict says so.
    """
    adjusted = holm(np.array([judgement.p_value for judgement in judgements], float))
    return [
        judgement.verdict == DIFFERS and not p_value > ALPHA
        for judgement, p_value in zip(judgements, adjusted, strict=True)
    ]


def _joint(ours: Estimate, theirs: Estimate, statistic: str) -> tuple[float, float, str]:
    """Return the joint standard error, its degrees of freedom and the rule; NaN if neither spread is known."""
    if isfinite(ours.stderr) and isfinite(theirs.stderr):
        return hypot(ours.stderr, theirs.stderr), _welch(ours, theirs), "joint"
    if isfinite(ours.stderr):
        n_theirs = theirs.n if isfinite(theirs.n) else ours.n if statistic == "median" else 1
        other = ours.stderr * sqrt(ours.n / n_theirs)
        return hypot(ours.stderr, other), ours.n - 1, "single" if n_theirs == 1 else "spread"
    if isfinite(theirs.stderr) and theirs.n > 1:
        return hypot(theirs.stderr, theirs.stderr * sqrt(theirs.n / ours.n)), theirs.n - 1, "one run"
    return nan, nan, "tolerance"


def _welch(ours: Estimate, theirs: Estimate) -> float:
    """Return Welch and Satterthwaite's degrees of freedom; a published number of unknown n counts as exact."""
    squares = [(one.stderr**2, (one.n - 1) if one.n > 1 else inf) for one in (ours, theirs)]
    denominator = sum(square**2 / freedom for square, freedom in squares)
    return sum(square for square, _ in squares) ** 2 / denominator if denominator else inf


def _two_sided(difference: float, freedom: float) -> float:
    tail = scipy.special.ndtr(-abs(difference)) if freedom == inf else scipy.special.stdtr(freedom, -abs(difference))
    return float(2 * tail)


def _relative(ours: float, theirs: float) -> float:
    return (ours - theirs) / abs(theirs) if theirs and isfinite(theirs) else nan


def _within(relative: float, difference: float, tolerance: float, rule: str) -> Judgement:
    agrees = difference == 0 if isnan(relative) else abs(relative) <= tolerance
    return Judgement(AGREES if agrees else DIFFERS, nan, relative, nan, rule)
