"""Tasks say what a method has to know of a suite."""

import pytest

from bench.experiment.protocol import Protocol
from bench.experiment.tasks import task_of


@pytest.mark.parametrize(
    ("suite", "dataset", "expected"),
    [("toy", "toy", True), ("posterior", "yacht-linear", True), ("uci", "yacht", False), ("images", "mnist", False)],
)
def test_suites_with_reference_posteriors_say_so(suite, dataset, expected):
    assert task_of(suite, dataset).has_reference == expected


@pytest.mark.parametrize("network", ["mlp", "lenet5", "preact-resnet18"])
def test_images_have_the_activation_of_the_protocol(network):
    assert task_of("images", "mnist", Protocol(network=network)).network.activation == "relu"
    assert task_of("images", "mnist", Protocol(network=network, activation="softplus")).network.activation == "softplus"
