"""From a data set to the task that a suite makes of it, and to what a method is tuned over there."""

import json
from collections.abc import Mapping
from math import prod

from optuna.distributions import BaseDistribution, distribution_to_json

import datasets
import methods
from bench.experiment.protocol import Protocol
from bench.experiment.suites import SUITES
from methods.base import Method
from methods.maths.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian, Likelihood
from methods.networks.mlp import MLP, Network
from methods.problem import Task

LARGE_IMAGE = 128  # pixels of height from which a ResNet's stem is that for ImageNet


def task_of(suite: str, dataset: str, protocol: Protocol | None = None) -> Task:
    """The task that a suite makes of a data set under a protocol, the default one if None."""
    source, protocol = datasets.entry(dataset), protocol or Protocol()
    likelihood = _likelihood(source, protocol.likelihood)
    if source.image:
        network = image_network(protocol.network, source.image, likelihood.n_outputs)
    elif source.model:
        hidden = source.model.hidden
        network = MLP(source.n_features, hidden, likelihood.n_outputs, bias=bool(hidden))
    else:
        network = MLP(source.n_features, SUITES[suite].hidden, likelihood.n_outputs)
    return Task(dataset, likelihood, network, pretrained=protocol.weights is not None)


def method_for(name: str, task: Task) -> Method:
    """The method of that name, as it is used on a task."""
    return methods.get(name).suited_to(task)


def image_network(name: str, image: tuple[int, int, int], n_outputs: int) -> Network:
    """The network that a protocol calls `name`, for images (channels, height, width)."""
    from methods.networks import convnets, resnets

    makers = {
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
    if source.task == "regression":
        homoscedastic = regression == "gaussian"
        return Gaussian(source.noise_precisions) if homoscedastic else HeteroscedasticGaussian()
    return Bernoulli() if source.task == "binary" else Categorical(source.n_classes)


def space_of(method: Method, task: Task, protocol: Protocol) -> dict[str, BaseDistribution]:
    """The search space that a protocol gives a method on a task."""
    if task.network.image:
        return method.image_space(task)
    return method.wide_space(task) if protocol.space == "wide" else method.search_space(task)


def as_json(space: Mapping[str, BaseDistribution]) -> str:
    """A search space as a JSON object, as it stands in a cell's row."""
    return json.dumps({name: json.loads(distribution_to_json(one)) for name, one in space.items()})
