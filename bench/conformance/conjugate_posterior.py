"""Check of the posterior of linear models, for which the exact posterior is known in closed form."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep_bench.bench.conformance.examined import REGRESSION, Examined, Violation, in_words, middle_of, require
from lockstep_bench.bench.reference.conjugate import LinearProblem, orthogonal, strong_prior
from lockstep_bench.methods.base import COVARIANCES, Method

PROBLEMS: dict[str, Callable[..., LinearProblem]] = {
    "a weak prior": orthogonal,
    "a strong prior and correlated inputs": strong_prior,
}
DIMS = 3, 8  # the first that the method supports is used; methods with many factors need many weights
SEEDS, UPDATES, SAMPLES = 8, 6000, 2000
BATCHES = 2  # n_train / batch size
MEAN_TOLERANCE = 0.25  # of the mean over the seeds, in exact posterior standard deviations
SPREAD_TOLERANCE = 0.15  # relative, mean over the seeds
# Tolerances are wider by this number of Monte Carlo standard errors of the samples that a method returns.
STANDARD_ERRORS = 3
# What a wrong mean may come from: words -> the problem whose posterior it then equals.
SLIPS: dict[str, Callable[[LinearProblem], LinearProblem]] = {
    "without a prior": lambda problem: problem._replace(alpha=1e-9),
    "of half the prior precision, or whose data count twice": lambda problem: problem._replace(alpha=problem.alpha / 2),
    "of twice the prior precision, or whose data count half": lambda problem: problem._replace(alpha=problem.alpha * 2),
    "whose likelihood lacks the factor n_train": lambda problem: problem._replace(beta=problem.beta / len(problem.x)),
    "of noise precision 1": lambda problem: problem._replace(beta=1.0),
    "with the reciprocal noise precision": lambda problem: problem._replace(beta=1 / problem.beta),
}


def finds_the_conjugate_posterior(examined: Examined) -> str:
    """Compare a method's posteriors of two linear models with the best posteriors of its kind of covariance.

    The kind is `Method.covariance`, for example diagonal. Mean and spread are compared for single weights and for
    projections on the axes of the exact posterior. The second problem's prior is as strong as its data, and its weights
    are correlated.
    """
    method = examined.method
    if not method.weight_posterior:
        return "not applicable: the method has no posterior of the weights under the prior N(0, I / prior_precision)"
    if REGRESSION not in examined.tasks:
        return f"not applicable: {method.excludes(REGRESSION)}"
    if method.mean_caveat:
        return f"not compared: {method.mean_caveat}"
    details = []
    for words, problem_of in PROBLEMS.items():
        problems = [problem_of(0, dim=dim) for dim in DIMS]
        problem = next((problem for problem in problems if not method.excludes(problem.task)), None)
        if problem is None:
            return f"not applicable: {method.excludes(problems[-1].task)}"
        try:
            details.append(f"with {words} {_compare(method, problem, examined.device)}")
        except Violation as violation:
            raise Violation(f"in a linear model with {words}, {violation}") from None
    return "; ".join(details)


def _compare(method: Method, problem: LinearProblem, device: str) -> str:
    hparams: dict[str, Any] = dict(middle_of(method.search_space(problem.task)))
    fits = problem.fit(method, UPDATES, len(problem.x) // BATCHES, range(SEEDS), device=device, **hparams)
    means, variances, n_samples = problem.moments_at_probes(fits, SAMPLES)
    require(
        bool(np.isfinite(means).all() and np.isfinite(variances).all()),
        f"the fits diverge within {UPDATES} updates at {in_words(hparams)}, the middle of each range; narrow the "
        "search space, or keep the update finite there",
    )
    detail = _compare_means(problem, means.mean(axis=0), n_samples)
    if caveat := "it predicts with its mean" if method.mean_network else method.spread_caveat:
        return f"{detail}, spread not compared: {caveat}"
    return f"{detail}, {_compare_spreads(problem, np.sqrt(variances.clip(min=0).mean(axis=0)), n_samples, method)}"


def _compare_means(problem: LinearProblem, outputs: np.ndarray, n_samples: int) -> str:
    """Compare mean outputs (2 D,) at the probes with those of the exact posterior."""
    sds = _spreads(problem.probes, problem.posterior().covariance)

    def bias_of(other: LinearProblem) -> float:
        return float(np.abs((outputs - problem.probes @ other.posterior().mean) / sds).max())

    bias = bias_of(problem)
    tolerance = MEAN_TOLERANCE + (STANDARD_ERRORS / math.sqrt(n_samples * SEEDS) if n_samples > 1 else 0)
    biases = {words: bias_of(change(problem)) for words, change in SLIPS.items()}
    closest = min(biases, key=lambda words: biases[words])
    likely = biases[closest] < tolerance
    cause = f"It is that of a model {closest}" if likely else "Check the weights of the likelihood and the prior"
    require(
        bias < tolerance,
        f"the posterior mean, averaged over {SEEDS} fits, differs from the exact one by {bias:.2f} exact standard "
        f"deviations; allowed are {tolerance:.2f}. {cause}",
    )
    return f"mean within {bias:.2f} exact standard deviations"


def _compare_spreads(problem: LinearProblem, spreads: np.ndarray, n_samples: int, method: Method) -> str:
    """Compare standard deviations (2 D,) of the output at the probes with those of the best member of the family."""
    ratios = spreads / _spreads(problem.probes, problem.best_normal(method.covariance).covariance)
    worst = float(ratios[np.argmax(np.abs(ratios - 1))])
    tolerance = SPREAD_TOLERANCE + (STANDARD_ERRORS / math.sqrt(2 * (n_samples - 1) * SEEDS) if n_samples > 1 else 0)
    family = "" if method.covariance == "full" else f" with {COVARIANCES[method.covariance]}"
    require(
        abs(worst - 1) < tolerance,
        f"a posterior standard deviation is {worst:.2f} x that of the best Gaussian{family}; it must be within "
        f"{tolerance:.0%}. {_common_factor(ratios, tolerance)}Check how `sample` scales its noise and, if `predict` "
        "is overridden, the noise of the targets. If the method cannot have this spread, declare the `covariance` that "
        "it can have, or a `spread_caveat`",
    )
    return f"spread {worst:.2f} x that of the best Gaussian{family}"


def _common_factor(ratios: np.ndarray, tolerance: float) -> str:
    """Return a sentence on how often the likelihood seems to count; "" if the spreads are not off by one factor."""
    factor = float(ratios.mean())
    if factor <= 0 or np.abs(ratios / factor - 1).max() >= tolerance:
        return ""
    return (
        f"All are about {factor:.2f} x as large, as if the likelihood counted {factor**-2:.2g} times: the objective "
        f"needs n_train x the mean `problem.nll` of a minibatch, or n_train / batch size ({BATCHES} here) x its sum. "
    )


def _spreads(probes: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the standard deviation (2 D,) of the output at each probe (2 D, D), for weights of a covariance (D, D)."""
    spreads: np.ndarray = np.sqrt(np.einsum("pi,ij,pj->p", probes, covariance, probes))
    return spreads
