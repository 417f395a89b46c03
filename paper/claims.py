"""Statements of the paper's text that rest on verdicts. Numbers follow the rows by themselves; these words do not."""

from collections.abc import Callable

from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from paper.comparisons import DESIGN, FARTHEST, LINEAR, OTHER_MODELS, TWENTY
from paper.evidence import Evidence

Check = Callable[[Evidence], bool]
FOUR_SCORES = ("nmll", "nmll_dyadic", "rmse", "crps")
GAP_SCORES = ("nmll", "rmse", "crps")
ELSEWHERE = ("gaps predicted", "tails predicted")


def _verdict(name: str, metric: str, method: str, *verdicts: str) -> Check:
    return lambda evidence: evidence.rows(name, metric)[method].verdict in verdicts


def _first(name: str, metric: str, *methods: str) -> Check:
    """Return a check: the methods have the first mean ranks, in any order."""
    return lambda evidence: set(list(evidence.rows(name, metric))[: len(methods)]) == set(methods)


def _leading(name: str, metric: str, *methods: str) -> Check:
    """Return a check: these methods, and no others, are or could be the best."""
    return lambda evidence: (
        {method for method, row in evidence.rows(name, metric).items() if row.verdict in AHEAD} == set(methods)
    )


def _zero_inside(name: str, metric: str, method: str) -> Check:
    def check(evidence: Evidence) -> bool:
        row = evidence.rows(name, metric)[method]
        return row.low < 0 < row.high

    return check


def _nearer_is_better(metric: str, without: tuple[str, ...]) -> Check:
    return lambda evidence: evidence.correlation("function_w2", metric, without=without).low > 0


def _no_relation(metric: str) -> Check:
    def check(evidence: Evidence) -> bool:
        tau = evidence.correlation("rel_cov", metric, LINEAR, ())
        return tau.low < 0 < tau.high

    return check


def _all(*checks: Check) -> Check:
    return lambda evidence: all(check(evidence) for check in checks)


def _all_undecided(evidence: Evidence) -> bool:
    rankings = (evidence.ranking(name, metric) for name in ("gaps", "tails") for metric in GAP_SCORES)
    return all(row.verdict in ("undecided", "failed") for ranking in rankings for row in ranking.rows)


def _only_sghmc_leads_everywhere(evidence: Evidence) -> bool:
    leading = [
        {method for method, row in evidence.rows(name, "nmll").items() if row.verdict in AHEAD} for name in DESIGN
    ]
    return set.intersection(*leading) == {"sghmc"}


CLAIMS: dict[str, Check] = {
    "On the nine sets sghmc is the best of seven by NMLL, joint NMLL, RMSE and CRPS.": _all(
        *(_verdict("nine", metric, "sghmc", "best") for metric in FOUR_SCORES)
    ),
    "Over all suites sghmc is the best by these scores again.": _all(
        *(_verdict("all sets", metric, "sghmc", "best") for metric in ("nmll", "rmse", "crps")),
        *(_verdict("all sets predicted", metric, "sghmc", "best") for metric in ("nmll_dyadic", "nmll_joint_10")),
    ),
    "A deep ensemble is the next by mean rank.": _all(
        _first("nine", "nmll", "sghmc", "deep-ensemble"), _first("all sets", "nmll", "sghmc", "deep-ensemble")
    ),
    "On the larger sets four methods could be the best by NMLL, and the interval of sghmc includes zero.": _all(
        _leading("larger", "nmll", "sghmc", "deep-ensemble", "swag", "mfvi"), _zero_inside("larger", "nmll", "sghmc")
    ),
    "With mile, sghmc, mile and the ensemble could be the best by RMSE.": _leading(
        "nine with mile", "rmse", "sghmc", "mile", "deep-ensemble"
    ),
    "With mile, mile and sghmc could be the best by CRPS.": _leading("nine with mile", "crps", "sghmc", "mile"),
    "By NMLL mile has no verdict on the nine sets.": _verdict("nine with mile", "nmll", "mile", "undecided"),
    "Of four samplers, the ensemble and map, all samplers could be the best jointly, and all but mile by NMLL.": _all(
        _leading("samplers", "nmll_dyadic", "mile", "sghmc", "csgmcmc", "smile"),
        _leading("samplers", "nmll", "sghmc", "csgmcmc", "smile"),
        *(
            _verdict("samplers", metric, method, "worse")
            for metric in ("nmll", "nmll_dyadic")
            for method in ("deep-ensemble", "map")
        ),
    ),
    "Of the four samplers csgmcmc has the first mean rank by RMSE.": _first("samplers", "rmse", "csgmcmc"),
    "sghmc could be the best in all combinations of network and noise, and it alone.": _only_sghmc_leads_everywhere,
    "Predicted noise is significantly better than constant noise.": _verdict("noise", "nmll", "predicted", "best"),
    "The two networks do not differ significantly.": _verdict("network", "nmll", "16-16", "undecided"),
    "After one second sghmc is the best by the joint NMLL.": _verdict("one second", "nmll_dyadic", "sghmc", "best"),
    "After one second sghmc, the ensemble and map could be the best by NMLL.": _leading(
        "one second", "nmll", "sghmc", "deep-ensemble", "map"
    ),
    "After ten seconds sghmc alone could be the best by the joint NMLL.": _leading(
        "ten seconds", "nmll_dyadic", "sghmc"
    ),
    "After ten seconds sghmc and the ensemble could be the best by NMLL.": _leading(
        "ten seconds", "nmll", "sghmc", "deep-ensemble"
    ),
    "After one second mile is worse than another method, and after ten it has no verdict.": _all(
        *(_verdict("one second", metric, "mile", "worse") for metric in ("nmll", "nmll_dyadic")),
        *(_verdict("ten seconds", metric, "mile", "undecided") for metric in ("nmll", "nmll_dyadic")),
    ),
    "The ensemble could be the best of one method of each family.": _verdict(
        "families", "nmll", "deep-ensemble", "could be best"
    ),
    "By NMLL and RMSE sghmc and its control without noise could be the best, with and without gp-gas.": _all(
        *(
            _leading(name, metric, "sghmc", "sghmc-noiseless")
            for name in ("control", "control without gp-gas")
            for metric in ("nmll", "rmse")
        )
    ),
    "By the joint NMLL the control is worse than sghmc and the next, with and without gp-gas.": _all(
        *(_verdict(name, "nmll_dyadic", "sghmc", "best") for name in ("control", "control without gp-gas")),
        *(_first(name, "nmll_dyadic", "sghmc", "sghmc-noiseless") for name in ("control", "control without gp-gas")),
    ),
    "Of the parts of sghmc those with many networks could be the best by NMLL, and sghmc is the best jointly.": _all(
        _leading(
            *("parts", "nmll", "sghmc", "sghmc(chains=1)", "sghmc-noiseless", "sghmc-noiseless(chains=1)", TWENTY)
        ),
        _verdict("parts", "nmll_dyadic", "sghmc", "best"),
        _zero_inside("parts", "nmll", "sghmc-noiseless(chains=1,draws=1)"),
    ),
    "With an ensemble of twenty sghmc is the best of eight by NMLL and joint NMLL.": _all(
        *(_verdict("twenty", metric, "sghmc", "best") for metric in ("nmll", "nmll_dyadic")),
        *(_first("twenty", metric, "sghmc", TWENTY) for metric in ("nmll", "nmll_dyadic")),
    ),
    "In gaps and tails nothing is distinguished with constant noise.": _all_undecided,
    "With predicted noise map is not shown to be worse by NMLL in gaps; in tails it is among eight methods only.": _all(
        *(
            _verdict(name, "nmll", "map", "undecided", *AHEAD)
            for name in ("gaps predicted", "all gaps predicted", "tails predicted")
        ),
        _verdict("all tails predicted", "nmll", "map", "worse"),
    ),
    "With predicted noise map is worse by joint NMLL in tails.": _verdict(
        "tails predicted", "nmll_dyadic", "map", "worse"
    ),
    "With predicted noise sghmc could be the best by joint NMLL in gaps and tails, and the ensemble is worse.": _all(
        *(_verdict(name, "nmll_dyadic", "sghmc", *AHEAD) for name in ELSEWHERE),
        *(_verdict(name, "nmll_dyadic", "deep-ensemble", "worse") for name in ELSEWHERE),
    ),
    "Without naval sghmc is still the best.": _verdict("without naval", "nmll", "sghmc", "best"),
    "Methods whose functions are nearer to the true posterior score better, also without the farthest.": _all(
        *(
            _nearer_is_better(metric, (*OTHER_MODELS, *more))
            for metric in ("nmll", "nmll_dyadic", "rmse")
            for more in ((), FARTHEST)
        )
    ),
    "No method is significantly better than draws of the true posterior, which are the first by NMLL.": _all(
        _first("functions", "nmll", "hmc-leapfrog"),
        *(_verdict("functions", metric, "hmc-leapfrog", *AHEAD) for metric in ("nmll", "nmll_dyadic")),
    ),
    "No relation with distances between weights is seen.": _all(
        *(_no_relation(metric) for metric in ("nmll", "nmll_dyadic"))
    ),
    "In gaps and in tails sghmc has the first mean rank.": _all(
        _first("gaps", "nmll", "sghmc"), _first("tails", "nmll", "sghmc")
    ),
    "Of thirteen methods sghmc and mdn could be the best by NMLL.": _leading("thirteen", "nmll", "sghmc", "mdn"),
    "Of thirteen methods seven could be the best by RMSE, sghmc with the first mean rank.": _all(
        _leading("thirteen", "rmse", "sghmc", "swag", "mdn", "mc-dropout", "quantile", "evidential", "ivon"),
        _first("thirteen", "rmse", "sghmc"),
    ),
    "Of twelve methods sghmc is the best by the joint NMLL.": _verdict("twelve", "nmll_dyadic", "sghmc", "best"),
    "Without frequent values sghmc is the best of thirteen.": _verdict(
        "thirteen without frequent values", "nmll", "sghmc", "best"
    ),
    "On the new sets sghmc and mfvi could be the best by NMLL.": _leading("new", "nmll", "sghmc", "mfvi"),
    "On the new sets sghmc is not better than map by RMSE and CRPS in the mean.": _all(
        *(_zero_inside("new", metric, "sghmc") for metric in ("rmse", "crps"))
    ),
    "A Gaussian process and sghmc could both be the best by NMLL, RMSE and CRPS.": _all(
        *(_leading("gp", metric, "gp", "sghmc") for metric in ("nmll", "rmse", "crps"))
    ),
    "No kept recheck differs.": lambda evidence: all(
        again.outcome in ("equal", "within noise") for again in evidence.rechecked
    ),
}


def contradicted(evidence: Evidence) -> list[str]:
    """Return the statements of the text that the rows no longer support."""
    return [statement for statement, check in CLAIMS.items() if not check(evidence)]
