"""Convolutional networks against torch.nn, and their sizes against known numbers."""

import pytest
import torch

from lockstep_bench.methods.networks.convnets import AlexNet, ConvNet, LeNet
from lockstep_bench.methods.networks.mlp import features


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("image", [(1, 8, 8), (2, 7, 5)])
def test_convnet_equals_torch_nn(image):
    network = ConvNet(image, channels=(3, 4), n_outputs=2)
    weights = torch.randn(network.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    modules = []
    for layer, pieces in zip(network.layers[:2], network.split(weights)[:2], strict=True):
        conv = torch.nn.Conv2d(layer.channels_in, layer.channels_out, 3, stride=2, padding=1, dtype=torch.float64)
        conv.weight.data, conv.bias.data = pieces[0].reshape(conv.weight.shape), pieces[1]
        modules += [conv, torch.nn.ReLU()]
    reference = torch.nn.Sequential(*modules, torch.nn.Flatten())
    x = torch.randn(5, network.image[0] * image[1] * image[2], dtype=torch.float64)
    last = network.layers[2](network.split(weights)[2], reference(x.reshape(5, *image)))
    torch.testing.assert_close(network(weights, x), last)
    torch.testing.assert_close(features(network, weights, x), reference(x.reshape(5, *image)))


def test_linear_convnet_has_no_convolution():
    assert ConvNet((1, 8, 8)).linear().dim == 65


def as_modules(network, pool) -> tuple[torch.nn.Sequential, list]:
    """The network in torch.nn with `pool` after pooled convolutions, and its modules that have weights."""
    modules, weighted = [], []
    for conv, pooled in network.stages:
        options = {"kernel_size": conv.kernel, "stride": conv.stride, "padding": conv.padding, "dtype": torch.float64}
        weighted.append(torch.nn.Conv2d(conv.channels_in, conv.channels_out, **options))
        modules += [weighted[-1], torch.nn.ReLU(), *[pool] * pooled]
    dense = network.layers[len(network.stages) :]
    modules.append(torch.nn.Flatten())
    for layer in dense:
        weighted.append(torch.nn.Linear(layer.fan_in, layer.fan_out, dtype=torch.float64))
        modules += [weighted[-1], torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1]), weighted


@pytest.mark.parametrize(
    ("network", "pool", "n_weights"),
    [
        (LeNet(), torch.nn.AvgPool2d(2), 61_706),  # that of LeNet-5 with fully connected maps
        (LeNet((3, 14, 12), 4), torch.nn.AvgPool2d(2), None),
        (AlexNet(), torch.nn.MaxPool2d(2), 2_472_266),  # "2.47M" in the benchmarks of CIFAR-10
    ],
    ids=["LeNet-5", "LeNet of another size", "AlexNet"],
)
def test_lenet_and_alexnet_equal_torch_nn(network, pool, n_weights):
    reference, modules = as_modules(network, pool)
    flat = [
        one
        for module in modules
        for one in ((module.weight.T if module.weight.ndim == 2 else module.weight), module.bias)
    ]
    weights = torch.cat([one.detach().flatten() for one in flat])
    assert len(weights) == network.dim == (n_weights or network.dim)
    x = numbers(3, network.linear().n_inputs)
    torch.testing.assert_close(network(weights, x), reference(x.reshape(3, *network.image)).detach())


@pytest.mark.parametrize("network", [LeNet((1, 8, 8)), AlexNet((3, 16, 16))], ids=["LeNet", "AlexNet"])
def test_too_small_images_are_refused(network):
    with pytest.raises(ValueError, match="too small for"):
        network.layers  # noqa: B018
