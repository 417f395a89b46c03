"""Tasks (likelihood and network) of data sets in suites, and the search spaces of methods on these tasks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from optuna.distributions import BaseDistribution, FloatDistribution, distribution_to_json

from lockstep_bench import datasets, methods
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.datasets.standardise import NOISE_PRECISIONS
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    Likelihood,
    StudentTNoise,
)
from lockstep_bench.methods.networks.mlp import MLP, Network
from lockstep_bench.methods.problem import Task
from lockstep_bench.shared.protocol import Protocol

LARGE_IMAGE = 128  # height in pixels from which ResNets use the stem for ImageNet


def task_of(suite: str, dataset: str, protocol: Protocol | None = None) -> Task:
    """Return the task (likelihood and network) of a data set in a suite under a protocol, or the default protocol."""
    return task_from(datasets.entry(dataset), suite, protocol or Protocol())


def task_from(source: datasets.Source, suite: str, protocol: Protocol) -> Task:
    """Return the task (likelihood and network) of a data set, registered or not, in a suite under a protocol."""
    likelihood = _likelihood(source, protocol.likelihood)
    if source.image:
        network = image_network(protocol.network, source.image, likelihood.n_outputs)
        network = replace(network, activation=protocol.activation)
    elif source.model:
        hidden = source.model.hidden
        # The bias of a linear model is the weight of a column of ones.
        network = MLP(source.n_features + source.model.bias, hidden, likelihood.n_outputs, bias=bool(hidden))
    else:
        hidden = protocol.hidden_units or SUITES[suite].hidden
        network = MLP(source.n_features, hidden, likelihood.n_outputs, protocol.activation)
    has_reference = "prior_precision" in SUITES[suite].kind.settled
    return Task(source.name, likelihood, network, protocol.weights is not None, has_reference)


def method_for(name: str, task: Task) -> Method:
    """Return a method by name, adapted to a task."""
    return methods.get(name).suited_to(task)


def image_network(name: str, image: tuple[int, int, int], n_outputs: int) -> Network:
    """Return the image network that a protocol names, for images of shape (channels, height, width)."""
    from lockstep_bench.methods.networks import convnets, resnets

    makers: dict[str, Callable[[], Network]] = {
        "mlp": lambda: MLP(prod(image), (50,), n_outputs),
        "cnn": lambda: convnets.ConvNet(image, n_outputs=n_outputs),
        "lenet5": lambda: convnets.LeNet(image, n_outputs),
        "alexnet": lambda: convnets.AlexNet(image, n_outputs),
        "preresnet20": lambda: resnets.preresnet_20(image, n_outputs),
        "preresnet20-frn": lambda: resnets.preresnet_20(image, n_outputs, norm="filter-response"),
        "resnet18": lambda: resnets.ResNet(image, n_outputs, stem=_stem(image)),
        "resnet18-gn": lambda: resnets.ResNet(image, n_outputs, norm="group", stem=_stem(image)),
        "preact-resnet18": lambda: resnets.PreActResNet(image, n_outputs),
        "preact-resnet18-gn": lambda: resnets.PreActResNet(image, n_outputs, norm="group"),
    }
    return makers[name]()


def _stem(image: tuple[int, int, int]) -> str:
    return "imagenet" if image[1] >= LARGE_IMAGE else "cifar"


def _likelihood(source: datasets.Source, regression: str) -> Likelihood:
    if source.n_classes is None:  # a regression
        if regression == "heteroscedastic":
            return HeteroscedasticGaussian()
        # Where only the rows of a split give the range, that of standardised targets stands for it.
        precisions = source.noise_precisions or NOISE_PRECISIONS
        return Gaussian(precisions) if regression == "gaussian" else StudentTNoise(precisions)
    return Bernoulli() if source.task == "binary" else Categorical(source.n_classes)


def space_of(method: Method, task: Task, protocol: Protocol) -> dict[str, BaseDistribution]:
    """Return the search space of a method on a task under a protocol, by hyper-parameter.

    A hyper-parameter that the protocol fixes has a range of one point. A range that the protocol gives is searched on
    the same (linear or log) scale as the method's range that it replaces.
    """
    given = protocol.ends_for(method.name)
    ranges = ranges_of(method, task, protocol)
    return {name: _between(*given[name], own) if name in given else own for name, own in ranges.items()}


def _between(low: float, high: float, own: BaseDistribution) -> BaseDistribution:
    return FloatDistribution(low, high, log=low < high and isinstance(own, FloatDistribution) and own.log)


def ranges_of(method: Method, task: Task, protocol: Protocol) -> dict[str, BaseDistribution]:
    """Return the method's own ranges of all its hyper-parameters on a task, even if the protocol gives others."""
    if task.network.image:
        return method.image_space(task)
    return method.wide_space(task) if protocol.space == "wide" else method.search_space(task)


def as_json(space: Mapping[str, BaseDistribution]) -> str:
    """Return a search space as a JSON object, in the form in which it is stored with results."""
    return json.dumps({name: json.loads(distribution_to_json(distribution)) for name, distribution in space.items()})
