"""Suites: which data sets, which network, which budgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import datasets
from bench.experiment.kinds import Fidelity, Images, Kind, Streams
from bench.experiment.protocol import Protocol


@dataclass(frozen=True)
class Suite:
    """A collection of tasks that are run and shown together.

    Attributes:
        name: as on the command line; data sets say in their `suites` where they belong.
        title: for people.
        kind: what its cells are.
        headline: metrics of `bench.schema.METRICS` that a run tells at its end, with their names for people.
        hidden: units of each hidden layer of its multilayer perceptrons.
        splits: per preset, how many of a data set's splits are run unless told otherwise; None for all.
        presets: name -> protocol.
        left_out: per preset, data sets that are run only when they are asked for by name: they would take too long.
    """

    name: str
    title: str
    kind: Kind
    headline: Mapping[str, str]
    hidden: tuple[int, ...]
    splits: Mapping[str, int | None]
    presets: Mapping[str, Protocol]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def datasets(self) -> tuple[str, ...]:
        """Names of all data sets that belong here and can be asked."""
        broken = {problem.name for problem in datasets.problems()}
        usable = (name for name in datasets.names() if name not in broken)
        return tuple(name for name in usable if self.name in datasets.entry(name).suites)


SUITES = {
    "uci": Suite(
        name="uci",
        title="UCI regression and classification",
        kind=Kind("bench.evaluation.prediction:PredictionPack"),
        headline={"nmll": "NMLL"},
        hidden=(50,),
        splits={"paper": None, "tuned": None, "quick": 2},
        presets={
            "paper": Protocol(),
            "tuned": Protocol(epochs=200, batch_size=16, folds=3, sampler="tpe", space="wide", max_minibatches=10_000),
            "quick": Protocol(
                epochs=150, batch_size=10, trials=5, folds=3, samples=100, validation_samples=30, max_minibatches=300
            ),
        },
    ),
    "posterior": Suite(
        name="posterior",
        title="Distance to the true posterior",
        left_out={
            "quick": ("energy-linear", "concrete-linear", "usps3v5-logistic", "a1a-logistic", "yacht-net", "toy"),
        },
        kind=Fidelity("bench.evaluation.posterior:pack_of"),
        headline={"rel_cov": "Relative distance of the covariance", "total_variation": "Predictive total variation"},
        hidden=(),
        splits={"paper": None, "quick": 1},
        presets={
            "paper": Protocol(epochs=5000, batch_size=100, trials=10, samples=1000),
            "quick": Protocol(
                epochs=1000,
                batch_size=100,
                trials=10,
                folds=3,
                samples=200,
                validation_samples=30,
                max_updates=2000,
                space="wide",
            ),
        },
    ),
    "images": Suite(
        name="images",
        title="Image classification",
        left_out={
            "quick": ("kmnist", "cifar10", "cifar10-jpeg", "cifar100", "svhn", "stl10"),
            "tuned": ("kmnist", "cifar10", "cifar10-jpeg", "cifar100", "svhn", "stl10"),
        },
        kind=Images("bench.evaluation.images:ImagePack"),
        headline={"nmll": "NMLL", "ece": "ECE", "near_ood_fpr95": "Near OOD, FPR95"},
        hidden=(),
        splits={"paper": 1, "tuned": 1, "quick": 1},
        presets={
            "paper": Protocol(
                epochs=200,
                batch_size=128,
                trials=1,
                sampler="centre",
                samples=30,
                network="resnet18",
                schedule="cosine",
            ),
            "tuned": Protocol(
                epochs=20,
                batch_size=128,
                trials=6,
                samples=30,
                validation_samples=10,
                network="lenet5",
                schedule="cosine",
            ),
            "quick": Protocol(
                epochs=10,
                batch_size=50,
                trials=1,
                sampler="centre",
                samples=10,
                network="lenet5",
                schedule="cosine",
                max_train=2000,
                max_test=1000,
                max_shifted=100,
            ),
        },
    ),
    "retinopathy": Suite(
        name="retinopathy",
        title="Diabetic retinopathy, from a network trained on ImageNet",
        kind=Images("bench.evaluation.images:ImagePack"),
        headline={"nmll": "NMLL", "ece": "ECE"},
        hidden=(),
        splits={"paper": None, "quick": 1},
        presets={
            # Where the VIFA paper is silent: how the learning rate falls, how many samples validate, and whether the
            # final fit sees the validation images, as it does here.
            "paper": Protocol(
                epochs=10,
                batch_size=16,
                trials=6,
                samples=100,
                validation_samples=30,
                network="resnet18",
                start="imagenet",
                schedule="cosine",
                max_shifted=0,
            ),
            # Too short to learn much: it shows that everything runs, on a CPU in a minute or two for each method.
            "quick": Protocol(
                epochs=1,
                batch_size=8,
                trials=1,
                sampler="centre",
                samples=5,
                network="resnet18",
                start="imagenet",
                schedule="cosine",
                max_train=200,
                max_test=100,
                max_shifted=0,
            ),
        },
    ),
    "factor-analysis": Suite(
        name="factor-analysis",
        title="Gaussians fitted to streams of vectors",
        kind=Streams("bench.evaluation.streams:StreamPack"),
        headline={"rel_cov": "Relative distance of the covariance"},
        hidden=(),
        splits={"paper": None, "quick": 3},
        presets={"paper": Protocol(), "quick": Protocol(stream_length=10_000)},
    ),
    "toy": Suite(
        name="toy",
        title="One dimension with a gap",
        kind=Fidelity("bench.evaluation.posterior:pack_of"),
        headline={"nmll": "NMLL"},
        hidden=(50,),
        splits={"paper": None, "quick": 1},
        presets={
            "paper": Protocol(epochs=2000, batch_size=20, space="wide", samples=1000),
            "quick": Protocol(epochs=300, batch_size=20, trials=5, folds=3, samples=200, validation_samples=30),
        },
    ),
}
