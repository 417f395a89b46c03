r"""Every number of the paper's text, as a macro: `\SghmcNineNmll` is a difference with its interval."""

from collections import Counter
from collections.abc import Callable

from lockstep_bench import methods
from lockstep_bench.leaderboards.data.rechecks import EQUAL, WITHIN
from lockstep_bench.leaderboards.replications.claims import (
    CONTRADICTED,
    HOLDS,
    IN_PART,
    MIXED,
    NOT_RUN,
    UNDECIDED,
)
from lockstep_bench.leaderboards.stats.rank_correlation import RankCorrelation
from lockstep_bench.leaderboards.tables import ranking_numbers
from paper.comparisons import FARTHEST, LINEAR, NETWORKS, OTHER_MODELS, SAMPLERS, TWENTY, Posteriors
from paper.evidence import Evidence
from paper.latex import effect, text
from paper.quoted import QUOTES

Number = Callable[[Evidence], str]
EDGE = 0.02  # of a search range; the default of `python -m leaderboards edges`


def _difference(name: str, method: str, metric: str = "nmll") -> Number:
    """Return a number: the difference of a method to the reference of a comparison, with its interval."""
    return lambda evidence: effect(evidence.rows(name, metric)[method], evidence.ranking(name, metric).unit)


def _detectable(name: str, method: str, metric: str = "nmll") -> Number:
    """Return a number: the smallest difference to the reference that is detected with a probability of 80 %."""
    return lambda evidence: text(
        ranking_numbers.detectable(evidence.rows(name, metric)[method], evidence.ranking(name, metric).unit)
    )


def _datasets(name: str, metric: str = "nmll") -> Number:
    return lambda evidence: str(len(evidence.ranking(name, metric).datasets))


def _splits(name: str, metric: str = "nmll") -> Number:
    return lambda evidence: str(evidence.ranking(name, metric).rows[0].n_splits)


def _leads(name: str, method: str) -> Number:
    """Return a number: on how many data sets a method has the lowest mean NMLL."""
    return lambda evidence: str(sum(rank == 1 for rank in evidence.ranking(name, "nmll").ranks[method]))


def _behind_map(name: str, method: str) -> Number:
    def count(evidence: Evidence) -> str:
        ranks = evidence.ranking(name, "nmll").ranks
        return str(sum(ours > theirs for ours, theirs in zip(ranks[method], ranks["map"], strict=True)))

    return count


def _claims(*verdicts: str) -> Number:
    """Return a number: the claims of papers with one of the verdicts; without verdicts, those that were judged."""

    def count(evidence: Evidence) -> str:
        found = Counter(claim.verdict for one in evidence.claims for claim in one.claims)
        return str(sum(found[verdict] for verdict in verdicts) if verdicts else found.total() - found[NOT_RUN])

    return count


def _rechecked(*outcomes: str) -> Number:
    return lambda evidence: str(sum(again.outcome in outcomes or not outcomes for again in evidence.rechecked))


def _tau(
    distance: str, score: str, posteriors: Posteriors = NETWORKS, without: tuple[str, ...] = OTHER_MODELS
) -> Number:
    return lambda evidence: correlation(evidence.correlation(distance, score, posteriors, without))


def _spread(method: str) -> Number:
    """Return a number: how far a method's functions spread in the gap of the toy problem, relative to NUTS."""
    return lambda evidence: f"{evidence.mean('toy', 'paper', 'toy', method, 'sd_ratio_between'):.2f}"


def _false(noise: str) -> Number:
    return lambda evidence: f"{100 * evidence.simulated(noise).false_over_sets:.1f}"


def _at_edge(evidence: Evidence) -> str:
    return str(sum(optimum.at_edge(EDGE) for optimum in evidence.optima(("sghmc",))))


def correlation(found: RankCorrelation) -> str:
    """Return a mean Kendall's tau with its interval over data sets."""
    return text(f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f})")


COMPUTED: dict[str, Number] = {
    "Methods": lambda _: str(len(methods.names())),
    "Rows": lambda evidence: f"{len(evidence.cells):,}",
    "Revisions": lambda evidence: str(evidence.cells["code_revision"].nunique()),
    "SghmcNineNmll": _difference("nine", "sghmc"),
    "SghmcWithoutNaval": _difference("without naval", "sghmc"),
    "EnsembleNineNmll": _difference("nine", "deep-ensemble"),
    "LaplaceNineNmll": _difference("nine", "laplace"),
    "MfviNineNmll": _difference("nine", "mfvi"),
    "VifaNineNmll": _difference("nine", "vifa"),
    "AllSets": _datasets("all sets"),
    "AllSplits": _splits("all sets"),
    "JointSets": _datasets("all sets predicted", "nmll_dyadic"),
    "SghmcAllNmll": _difference("all sets", "sghmc"),
    "SghmcAllJoint": _difference("all sets predicted", "sghmc", "nmll_dyadic"),
    "SghmcAllRandomJoint": _difference("all sets predicted", "sghmc", "nmll_joint_10"),
    "SghmcAllRmse": _difference("all sets", "sghmc", "rmse"),
    "SghmcAllLeads": _leads("all sets", "sghmc"),
    "SghmcAllBehind": _behind_map("all sets", "sghmc"),
    "PowerAllEnsemble": _detectable("all sets", "deep-ensemble"),
    "PowerAllSghmc": _detectable("all sets", "sghmc"),
    "PowerAllVifa": _detectable("all sets", "vifa"),
    "MdnNmll": _difference("thirteen", "mdn"),
    "SghmcPredictedNmll": _difference("thirteen", "sghmc"),
    "WithoutFrequentSets": _datasets("thirteen without frequent values"),
    "MdnWithoutFrequentNmll": _difference("thirteen without frequent values", "mdn"),
    "SghmcWithoutFrequentNmll": _difference("thirteen without frequent values", "sghmc"),
    "EvidentialWithoutFrequentNmll": _difference("thirteen without frequent values", "evidential"),
    "NewSets": _datasets("new"),
    "SghmcOldNmll": _difference("old", "sghmc"),
    "SghmcNewNmll": _difference("new", "sghmc"),
    "SghmcNewJoint": _difference("new", "sghmc", "nmll_dyadic"),
    "SghmcNewRmse": _difference("new", "sghmc", "rmse"),
    "SghmcNewCrps": _difference("new", "sghmc", "crps"),
    "MfviNewNmll": _difference("new", "mfvi"),
    "LargerSets": _datasets("larger"),
    "SghmcLargerNmll": _difference("larger", "sghmc"),
    "SghmcLargerPredictedNmll": _difference("larger predicted", "sghmc"),
    "SghmcLargerPredictedJoint": _difference("larger predicted", "sghmc", "nmll_dyadic"),
    "SghmcLargerPredictedRmse": _difference("larger predicted", "sghmc", "rmse"),
    "MileNineNmll": _difference("nine with mile", "mile"),
    "MileNineRmse": _difference("nine with mile", "mile", "rmse"),
    "MileNineCrps": _difference("nine with mile", "mile", "crps"),
    "ControlSets": _datasets("control without gp-gas"),
    "ControlNmll": _difference("control without gp-gas", "sghmc-noiseless"),
    "ControlJoint": _difference("control without gp-gas", "sghmc-noiseless", "nmll_dyadic"),
    "ControlSghmcNmll": _difference("control without gp-gas", "sghmc"),
    "ControlSghmcJoint": _difference("control without gp-gas", "sghmc", "nmll_dyadic"),
    "PartSets": _datasets("parts"),
    "LastNmll": _difference("parts", "sghmc-noiseless(chains=1,draws=1)"),
    "OneChainNmll": _difference("parts", "sghmc-noiseless(chains=1)"),
    "TwentyNmll": _difference("parts", TWENTY),
    "TwentyJoint": _difference("parts", TWENTY, "nmll_dyadic"),
    "NoisePredicted": _difference("noise", "predicted"),
    "NetworkSixteen": _difference("network", "16-16"),
    "SecondsSets": _datasets("one second"),
    "SghmcOneSecondNmll": _difference("one second", "sghmc"),
    "SghmcOneSecondJoint": _difference("one second", "sghmc", "nmll_dyadic"),
    "MileOneSecondNmll": _difference("one second", "mile"),
    "SghmcTenSecondsJoint": _difference("ten seconds", "sghmc", "nmll_dyadic"),
    "Families": lambda evidence: str(len(evidence.rows("families", "nmll"))),
    "FamiliesSets": _datasets("families"),
    "EnsembleFamiliesNmll": _difference("families", "deep-ensemble"),
    "GapFamilies": lambda evidence: str(len(evidence.rows("gaps", "nmll"))),
    "GapSplits": _splits("gaps"),
    "TailSplits": _splits("tails"),
    "SghmcGapsNmll": _difference("gaps", "sghmc"),
    "SghmcTailsNmll": _difference("tails", "sghmc"),
    "SghmcTailsPredicted": _difference("tails predicted", "sghmc"),
    "SghmcGapsJoint": _difference("gaps predicted", "sghmc", "nmll_dyadic"),
    "SghmcTailsJoint": _difference("tails predicted", "sghmc", "nmll_dyadic"),
    "PowerGapsSghmc": _detectable("gaps", "sghmc"),
    "PowerTailsSghmc": _detectable("tails", "sghmc"),
    "Networks": lambda evidence: str(len(evidence.correlation("function_w2", "nmll").by_dataset)),
    "Aiming": lambda evidence: str(
        max(one.n_methods for one in evidence.correlation("function_w2", "nmll").by_dataset.values())
    ),
    "TauFunction": _tau("function_w2", "nmll"),
    "TauNear": _tau("function_w2", "nmll", without=(*OTHER_MODELS, *FARTHEST)),
    "TauNearest": _tau("function_w2", "nmll", without=(*OTHER_MODELS, *FARTHEST, *SAMPLERS)),
    "TauFunctionJoint": _tau("function_w2", "nmll_dyadic"),
    "TauFunctionRmse": _tau("function_w2", "rmse"),
    "HmcNmll": _difference("functions", "hmc-leapfrog"),
    "HmcJoint": _difference("functions", "hmc-leapfrog", "nmll_dyadic"),
    "TauCovariance": _tau("rel_cov", "nmll", LINEAR, ()),
    "TauDyadic": _tau("rel_cov", "nmll_dyadic", LINEAR, ()),
    "ToyLaplaceFull": _spread("laplace-full"),
    "ToyEnsemble": _spread("deep-ensemble"),
    "ToyVifa": _spread("vifa"),
    "GpSets": _datasets("gp"),
    "GpLeads": _leads("gp", "gp"),
    "GpNmll": _difference("gp", "gp"),
    "SghmcGpNmll": _difference("gp", "sghmc"),
    "FalseConstant": _false("constant"),
    "FalsePredicted": _false("predicted"),
    "SimulatedBoards": lambda evidence: str(evidence.repeats),
    "AtEdge": _at_edge,
    "Optima": lambda evidence: str(len(evidence.optima(("sghmc",)))),
    "Rechecked": _rechecked(),
    "RecheckedEqual": _rechecked(EQUAL),
    "RecheckedWithin": _rechecked(WITHIN),
    "ClaimsJudged": _claims(),
    "ClaimsHold": _claims(HOLDS),
    "ClaimsInPart": _claims(IN_PART),
    "ClaimsUndecided": _claims(UNDECIDED),
    "ClaimsAgainst": _claims(CONTRADICTED, MIXED),
}


def names() -> list[str]:
    """Return the names of all macros, without computing any."""
    return [*COMPUTED, *QUOTES]


def macros(evidence: Evidence) -> str:
    """Return the LaTeX definitions of all macros, one a line; numbers from documents name theirs in a comment."""
    computed = [rf"\newcommand{{\{name}}}{{{number(evidence)}}}" for name, number in COMPUTED.items()]
    quoted = [rf"\newcommand{{\{name}}}{{{text(quote.found())}}}% {quote.document}" for name, quote in QUOTES.items()]
    return "\n".join([*computed, *quoted, ""])
