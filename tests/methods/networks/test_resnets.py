"""Residual networks against torchvision and torch.nn, their sizes against known numbers."""

from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from lockstep_bench.datasets.images import weights
from lockstep_bench.methods.maths.likelihoods import Bernoulli
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.networks import resnets
from lockstep_bench.methods.networks.mlp import features
from lockstep_bench.methods.networks.normalisation import KINDS
from lockstep_bench.methods.networks.resnets import (
    PreActResNet,
    ResNet,
    body_from_torchvision,
    preresnet_20,
)
from lockstep_bench.methods.problem import HParams, Problem

TINY = {"image": (2, 8, 8), "n_outputs": 3, "widths": (4, 6), "blocks": 2}


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_weights(network) -> torch.Tensor:
    """Return weights that all differ from their initial values, so that scales, shifts and thresholds matter."""
    return network.initial_weights(NoiseGauge(torch.float64)) + 0.1 * numbers(network.dim)


@pytest.mark.parametrize(
    ("network", "n_weights"),
    [
        (ResNet(), 11_173_962),  # as in the inducing-weights paper, section 4.2
        (ResNet((3, 224, 224), 1000, stem="imagenet"), 11_689_512),  # torchvision's documentation
        (PreActResNet(), 11_171_146 + 2 * 512),  # the much-used implementation, and the last norm that it leaves out
        # Sums of He et al. 2016b: 3x3 convolutions, projections, linear layer, and two numbers per normalised channel.
        (preresnet_20(), 432 + 9 * (6 * 256 + 512 + 5 * 1024 + 2048 + 5 * 4096) + 512 + 2048 + 650 + 1376),
        (preresnet_20(norm="group"), preresnet_20().dim),
        (preresnet_20(norm="filter-response"), preresnet_20().dim + 1376 // 2),
    ],
    ids=["ResNet-18", "ResNet-18 ImageNet", "PreAct ResNet-18", "PreResNet-20", "group", "filter response"],
)
def test_resnets_have_known_numbers_of_weights(network, n_weights):
    assert network.dim == n_weights
    assert len(network.split(torch.zeros(network.dim))) == len(network.layers)


def resnet_of(torchvision, stem: str) -> torch.nn.Module:
    """torchvision's ResNet-18 for 7 classes, its norms not as they start, in float64."""
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=7)
    if stem == "cifar":
        model.conv1, model.maxpool = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False), torch.nn.Identity()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.weight.data += 0.3 * torch.randn_like(module.weight)
            module.bias.data += 0.3 * torch.randn_like(module.bias)
    return model.double()


def in_eval_mode_by_statistics_of(model, x: torch.Tensor):
    """`model` whose running statistics are those of its own activations at x, variances biased."""
    model.train()

    def keep(module, inputs, outputs):
        module.running_mean = inputs[0].mean((0, 2, 3)).detach()
        module.running_var = inputs[0].var((0, 2, 3), correction=0).detach()

    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    hooks = [module.register_forward_hook(keep) for module in norms]
    model(x)
    for hook in hooks:
        hook.remove()
    return model.eval()


def from_torchvision(network: ResNet, state: dict) -> torch.Tensor:
    """Return torchvision's weights of all layers."""
    last = resnets._torchvision_pieces(state, "fc", network.layers[-1])
    return torch.cat([body_from_torchvision(network, state), *last])


@pytest.mark.parametrize(("stem", "image"), [("cifar", (3, 12, 9)), ("imagenet", (3, 40, 36))])
def test_resnet_equals_torchvision(torchvision, stem, image):
    network, theirs = ResNet(image, 7, stem=stem), resnet_of(torchvision, stem)
    weights = from_torchvision(network, theirs.state_dict())
    images = numbers(6, *image)
    x = images.flatten(1)
    with torch.no_grad():
        torch.testing.assert_close(network(weights, x), theirs.train()(images))
        found = replace(network, n_reference=4)(weights, x)
        torch.testing.assert_close(found, in_eval_mode_by_statistics_of(theirs, images[:4])(images))


def test_pretrained_weights_initialise_all_layers_but_last(torchvision, tmp_path):
    theirs = resnet_of(torchvision, "imagenet").float()
    torch.save(theirs.state_dict(), tmp_path / "weights.pth")
    network, one = ResNet((3, 40, 36), 1, stem="imagenet"), torch.ones(())
    body = body_from_torchvision(network, weights.read(tmp_path / "weights.pth"))
    tape = numbers(network.dim).float()
    start = Problem(network, Bernoulli(), HParams(), 12 * one, 0 * one, one, body).initial_weights(Noise(tape))
    assert torch.equal(start[-513:], network.initial_weights(Noise(tape))[-513:])
    theirs.fc = torch.nn.Identity()
    images = numbers(4, 3, 40, 36).float()
    with torch.no_grad():
        found = features(network, start, images.flatten(1))
        torch.testing.assert_close(found, theirs.train()(images), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"n_outputs": 2}, r"fc.weight has shape \(7, 512\); Dense.* needs 1024 numbers"),
        ({"blocks": 3}, r"layer1\.2\.conv1\.weight is missing; Conv2d.* needs 36864 numbers"),
        ({"norm": "filter-response"}, "have no filter response normalisation; give the network norm='batch'"),
    ],
)
def test_mismatching_pretrained_weights_are_refused(torchvision, change, complaint):
    state = resnet_of(torchvision, "imagenet").state_dict()
    with pytest.raises(ValueError, match=complaint):
        from_torchvision(replace(ResNet(n_outputs=7, stem="imagenet"), **change), state)


def test_pretrained_torchvision_weights_need_a_resnet():
    with pytest.raises(ValueError, match="fit a ResNet only; got PreActResNet"):
        body_from_torchvision(PreActResNet(), {})


class FilterResponse(torch.nn.Module):
    """FRN and TLU as the paper writes them."""

    def __init__(self, channels: int):
        super().__init__()
        self.weight, self.bias, self.tau = (torch.nn.Parameter(torch.zeros(channels, 1, 1)) for _ in range(3))

    def forward(self, x):
        nu2 = (x**2).mean(dim=[2, 3], keepdim=True)
        return torch.max(self.weight * x / (nu2 + 1e-6).sqrt() + self.bias, self.tau)


ACTIVATED_NORMS = {
    "batch": lambda channels: torch.nn.Sequential(torch.nn.BatchNorm2d(channels), torch.nn.ReLU()),
    "group": lambda channels: torch.nn.Sequential(
        torch.nn.GroupNorm({4: 1, 6: 3}[channels], channels), torch.nn.ReLU()
    ),
    "filter-response": FilterResponse,
}


class PreActBlock(torch.nn.Module):
    def __init__(self, norm, before: int, after: int, stride: int):
        super().__init__()
        self.norm1, self.conv1 = norm(before), torch.nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm2, self.conv2 = norm(after), torch.nn.Conv2d(after, after, 3, 1, 1, bias=False)
        if before != after:
            self.shortcut = torch.nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        active = self.norm1(x)
        return self.conv2(self.norm2(self.conv1(active))) + (self.shortcut(active) if hasattr(self, "shortcut") else x)


@pytest.mark.parametrize("norm", KINDS)
def test_pre_activation_resnet_equals_torch_nn(norm):
    network, module = PreActResNet(**TINY, norm=norm), ACTIVATED_NORMS[norm]
    blocks = [PreActBlock(module, *sides) for sides in [(4, 4, 1), (4, 4, 1), (4, 6, 2), (6, 6, 1)]]
    inner = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, 1, 1, bias=False), *blocks, module(6)).double()
    head = torch.nn.Linear(6, 3).double()
    weights, x = some_weights(network), numbers(5, 128)
    flat = iter(weights.split([parameter.numel() for parameter in inner.parameters()] + [18, 3]))
    for parameter in inner.parameters():  # in the order of their making, which is that of application
        parameter.data = next(flat).reshape(parameter.shape)
    head.weight.data, head.bias.data = next(flat).reshape(6, 3).T, next(flat)
    with torch.no_grad():
        expected = inner(x.reshape(5, 2, 8, 8)).mean((2, 3))
        torch.testing.assert_close(features(network, weights, x), expected)
        torch.testing.assert_close(network(weights, x), head(expected))


@pytest.mark.parametrize("kind", [ResNet, PreActResNet])
@pytest.mark.parametrize("norm", KINDS)
def test_only_batch_norm_couples_a_batchs_examples(kind, norm):
    network = kind(**TINY, norm=norm)
    weights, x = some_weights(network), numbers(7, 128)
    alone, together = network(weights, x[:4]), network(weights, x)[:4]
    assert network.couples_rows == (norm == "batch") == (not torch.allclose(alone, together))
    anchored = replace(network, n_reference=3)
    torch.testing.assert_close(anchored(weights, x)[:4], anchored(weights, x[:4]))


@pytest.mark.parametrize("norm", KINDS)
def test_weight_samples_have_separate_batch_statistics(norm):
    network = PreActResNet(**TINY, norm=norm, n_reference=3)
    weights, x = torch.stack([some_weights(network), numbers(network.dim, seed=1)]), numbers(5, 128)
    together = vmap(network, (0, None))(weights, x)
    torch.testing.assert_close(together, torch.stack([network(one, x) for one in weights]))


def test_threshold_layer_uses_the_networks_activation():
    network = ResNet(**TINY, norm="filter-response", activation="softplus")
    kinds = [type(layer).__name__ for layer in network.layers]
    assert kinds[:8] == ["Conv2d", "Scale", "Threshold", "Conv2d", "Scale", "Threshold", "Conv2d", "Scale"]
    assert kinds.count("Threshold") == 1 + 4  # after the stem and within each block
    assert network.layers[2].activate is torch.nn.functional.softplus


def test_resnet_initialisation_follows_torch_nn_defaults():
    network = PreActResNet(image=(3, 8, 8), widths=(64,), blocks=1)
    gauge = NoiseGauge(torch.float64)
    network.initial_weights(gauge)
    stem, norm, conv, *_ = network.split(network.initial_weights(Noise(numbers(gauge.used))))
    for (kernel,), bound in ((stem, 27**-0.5), (conv, 576**-0.5)):
        assert kernel.abs().max() <= bound
        assert kernel.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert all((norm[0] == 1) & (norm[1] == 0))


def test_linear_resnet_has_no_convolution():
    assert ResNet(**TINY).linear().dim == PreActResNet(**TINY).linear().dim == 129 * 3


@pytest.mark.parametrize("wrong", [{"norm": "layer"}, {"stem": "stl"}])
def test_unknown_resnet_options_are_refused(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong.values()))}'; choose one of"):
        ResNet(**wrong)
