"""Compiled convolutions in captured graphs."""

import pytest
import torch
from torch.func import grad
from torch.nn.functional import avg_pool2d, conv2d, max_pool2d, relu

from lockstep_bench.bench.engine.graph_capture import capture, values_of
from lockstep_bench.bench.engine.native_stages import use_native_stages
from lockstep_bench.bench.native.stages import Stage
from lockstep_bench.methods.networks.convnets import LeNet

NETWORK = LeNet((2, 12, 14), 3)
X = torch.randn(9, 2 * 12 * 14, generator=torch.Generator().manual_seed(0))
WEIGHTS = 0.2 * torch.randn(NETWORK.dim, generator=torch.Generator().manual_seed(1))


def loss(weights, x):
    return NETWORK(weights, x).logsumexp(-1).sum()


def gradient(weights, x):
    return [grad(loss)(weights, x)]


def two_gradients(weights, x):
    return [grad(loss)(weights, x) + 3 * grad(loss)(0.5 * weights, x)]


def outputs(weights, x):
    return [NETWORK(weights, x)]


def stages_in(function, arguments):
    """Return the graph of a function with compiled stages, and how often it calls them."""
    graph = capture(function, arguments, 0)
    use_native_stages(graph, values_of(graph, arguments))
    owners = [getattr(node.target, "__self__", None) for node in graph.graph.nodes]
    return graph, sum(isinstance(owner, Stage) for owner in owners)


@pytest.mark.parametrize(("function", "n_calls"), [(gradient, 4), (two_gradients, 8), (outputs, 2)])
def test_results_are_those_of_torch(function, n_calls):
    graph, found = stages_in(function, (WEIGHTS, X))
    assert found == n_calls
    assert not any("conv" in str(node.target) for node in graph.graph.nodes)
    (one,), (other,) = graph(WEIGHTS, X), function(WEIGHTS.double(), X.double())
    torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))


FILTERS = torch.randn(3, 2, 3, 3, generator=torch.Generator().manual_seed(2))
IMAGES = torch.randn(4, 2, 8, 8, generator=torch.Generator().manual_seed(3))
BIAS = torch.ones(3)


def stage(weight, bias, x, pool=lambda y: avg_pool2d(y, 2), act=relu, **options):
    return [pool(act(conv2d(x, weight, bias, **options)))]


OTHERS = {
    "stride": lambda w, b, x: stage(w, b, x, stride=2),
    "dilation": lambda w, b, x: stage(w, b, x, dilation=2),
    "wide padding": lambda w, b, x: stage(w, b, x, padding=3),
    "padding of one side": lambda w, b, x: stage(w, b, x, padding=(1, 0)),
    "groups": lambda w, b, x: stage(w[:, :1].repeat(2, 1, 1, 1), b.repeat(2), x, groups=2),
    "without bias": lambda w, b, x: stage(w, None, x),
    "another activation": lambda w, b, x: stage(w, b, x, act=torch.tanh),
    "another pooling": lambda w, b, x: stage(w, b, x, pool=lambda y: max_pool2d(y, 2)),
    "squares that overlap": lambda w, b, x: stage(w, b, x, pool=lambda y: avg_pool2d(y, 2, 1)),
    "oblongs": lambda w, b, x: stage(w, b, x, pool=lambda y: avg_pool2d(y, (2, 1))),
    "padded squares": lambda w, b, x: stage(w, b, x, pool=lambda y: avg_pool2d(y, 2, padding=1)),
    "two uses of the activation": lambda w, b, x: stage(w, b, x, pool=lambda y: avg_pool2d(y, 2) + y.sum()),
    "two uses of the convolution": lambda w, b, x: stage(w, b, x, act=lambda y: relu(y) + y),
    "double precision": lambda w, b, x: stage(w.double(), b.double(), x.double()),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_operations_are_left_alone(kind):
    graph, found = stages_in(OTHERS[kind], (FILTERS, BIAS, IMAGES))
    assert not found
    assert torch.equal(graph(FILTERS, BIAS, IMAGES)[0], OTHERS[kind](FILTERS, BIAS, IMAGES)[0])


def test_a_usual_stage_is_found():
    assert stages_in(stage, (FILTERS, BIAS, IMAGES))[1] == 1
