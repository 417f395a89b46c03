"""Tasks say what a method has to know of a suite."""

import pytest

from lockstep_bench.bench.experiment.tasks import space_of, task_of
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import StudentTNoise
from lockstep_bench.methods.maths.search_spaces import LogUniform
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.shared.protocol import Protocol


@pytest.mark.parametrize(
    ("suite", "dataset", "expected"),
    [("toy", "toy", True), ("posterior", "yacht-linear", True), ("uci", "yacht", False), ("images", "mnist", False)],
)
def test_task_states_whether_a_reference_posterior_exists(suite, dataset, expected):
    assert task_of(suite, dataset).has_reference == expected


@pytest.mark.parametrize("network", ["mlp", "lenet5", "preact-resnet18"])
def test_image_networks_use_the_protocols_activation(network):
    assert task_of("images", "mnist", Protocol(network=network)).network.activation == "relu"
    assert task_of("images", "mnist", Protocol(network=network, activation="softplus")).network.activation == "softplus"


def test_protocol_sets_hidden_layers_and_activation():
    assert task_of("uci", "yacht").network == MLP(6, (50,), 1)
    assert task_of("uci", "yacht", Protocol(hidden="20,10", activation="tanh")).network == MLP(6, (20, 10), 1, "tanh")
    assert task_of("uci", "digits", Protocol(hidden="50")).network == MLP(64, (50,), 10)


def test_student_t_noise_shares_the_gaussian_precision_range():
    gaussian, student = (task_of("uci", "yacht", Protocol(likelihood=kind)) for kind in ("gaussian", "student-t"))
    assert student.likelihood == StudentTNoise(gaussian.likelihood.noise_precisions)
    assert student.network == gaussian.network
    usual, wide = (space_of(MAP(), student, Protocol(space=space)) for space in ("paper", "wide"))
    assert wide["noise_precision"] == space_of(MAP(), gaussian, Protocol(space="wide"))["noise_precision"]
    assert usual["noise_df"] == wide["noise_df"] == LogUniform(2.1, 50)
