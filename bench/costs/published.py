"""What papers report that a method's training costs beside plain training of the same network."""

from typing import NamedTuple


class PublishedCost(NamedTuple):
    """A ratio of training times.

    Attributes:
        methods: the registry's keys of those that it is of.
        ratio: times what the paper compares with.
        beside: what that is.
        network: of the measurement.
        source: paper and place; the two times where they are in the paper.
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
        "several weight samples per minibatch, where there is one here",
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
    """What there is of a method."""
    return [one for one in PUBLISHED if method in one.methods]
