"""Training costs of methods as papers report them, relative to plain training of the same network."""

from typing import NamedTuple


class PublishedCost(NamedTuple):
    """A published ratio of training times.

    Attributes:
        methods: names of the methods whose cost it is.
        ratio: time of the method divided by that of the baseline.
        beside: name of the baseline, such as plain SGD.
        network: network on which the times were measured.
        source: paper and place, with the two times where the paper has them.
    """

    methods: tuple[str, ...]
    ratio: float
    beside: str
    network: str
    source: str


PUBLISHED = (
    PublishedCost(
        ("vifa",),
        1.06,
        "SGD",
        "ResNet-18",
        "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning, Table 2: 463.2 and 435.7 minutes",
    ),
    PublishedCost(
        ("directuq-mean",),
        1.11,
        "SGD",
        "AlexNet",
        "Wei and Khardon, Direct Uncertainty Quantification, Table 1: 2.18 and 1.97 s per epoch of CIFAR-10",
    ),
    PublishedCost(
        ("mfvi",),
        4.32,
        "SGD",
        "AlexNet",
        "Wei and Khardon, Direct Uncertainty Quantification, Table 1: 8.51 and 1.97 s per epoch of CIFAR-10; with "
        "several weight samples per minibatch, where this project takes one",
    ),
    PublishedCost(
        ("variational-laplace", "variational-laplace-tempered"),
        2.75,
        "MAP",
        "PreAct ResNet-18",
        "Unlu and Aitchison 2021, Table 2: 114.9 and 41.8 s per epoch",
    ),
    PublishedCost(
        ("mfvi",),
        1.03,
        "MAP",
        "PreAct ResNet-18",
        "Unlu and Aitchison 2021, Table 2: 43.2 and 41.8 s per epoch",
    ),
)


def published(method: str) -> list[PublishedCost]:
    """Return the training costs that papers report for a method."""
    return [cost for cost in PUBLISHED if method in cost.methods]
