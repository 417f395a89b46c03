"""Residual networks with two convolutions per block and a choice of normalisation.

    ResNet          x' = activate(f(x) + x),  f = norm conv activate norm conv                     (He et al. 2016a)
    PreActResNet    x' = f(x) + x,            f = conv activate norm conv activate norm            (He et al. 2016b)

Where a block changes the number of channels or positions, a 1 x 1 convolution replaces the shortcut x. In `ResNet` the
outputs of this convolution are normalised; in `PreActResNet` its inputs are activated. Convolutions have no biases.

With batch normalisation (`methods.networks.normalisation`), outputs for one input depend on the other rows of x. In
training, these are the minibatch. For prediction, put reference inputs (training inputs) before the test inputs, set
the field `n_reference` to their number, and drop their outputs. Only the reference inputs then supply the statistics.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from lockstep_bench.methods.networks.layers import Conv2d, Dense, Layer
from lockstep_bench.methods.networks.mlp import ACTIVATIONS, MLP, Apply, Chain, Network, in_order
from lockstep_bench.methods.networks.normalisation import (
    KINDS,
    Scale,
    Threshold,
    by_batch,
    by_filter_response,
    by_group,
)

STEMS = ("cifar", "imagenet")


@dataclass(frozen=True)
class Residual(Chain):
    """Base of both kinds of residual network.

    Attributes:
        image: shape (channels, height, width) of one input, which is passed flattened.
        n_outputs: O, the number of outputs; outputs are not activated.
        widths: channels of each stage; every stage after the first halves the image.
        blocks: the number of blocks per stage.
        norm: kind of normalisation, one of `normalisation.KINDS`.
        n_reference: number of first rows of x that supply the statistics of batch normalisation; 0 for all.
        activation: a key of `ACTIVATIONS`.
    """

    image: tuple[int, int, int] = (3, 32, 32)
    n_outputs: int = 10
    widths: tuple[int, ...] = (64, 128, 256, 512)
    blocks: int = 2
    norm: str = "batch"
    n_reference: int = 0
    activation: str = "relu"

    def __post_init__(self) -> None:
        if self.norm not in KINDS:
            raise ValueError(f"unknown norm {self.norm!r}; choose one of {', '.join(KINDS)}")

    @property
    def couples_rows(self) -> bool:
        return self.norm == "batch"

    def linear(self) -> MLP:
        channels, height, width = self.image
        return MLP(channels * height * width, (), self.n_outputs, self.activation)

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """Yield (channels before, channels after, stride) of each block."""
        for number, (before, after) in enumerate(pairwise((self.widths[0], *self.widths))):
            yield before, after, 2 if number else 1
            for _ in range(self.blocks - 1):
                yield after, after, 1

    def _norm(self, channels: int, activated: bool = True) -> list[Layer]:
        """Return the layers with weights of one normalisation and, if `activated`, of the activation after it."""
        thresholded = activated and self.norm == "filter-response"
        return [Scale(channels), *[Threshold(channels, ACTIVATIONS[self.activation])] * thresholded]

    def _normalised(self, step: Callable[[Tensor], Tensor], x: Tensor, activated: bool = True) -> Tensor:
        """Return x normalised, scaled and, if `activated`, activated; `step` applies the layers of `_norm`."""
        normalise: dict[str, Callable[[Tensor], Tensor]] = {
            "batch": partial(by_batch, n_reference=self.n_reference),
            "group": by_group,
            "filter-response": by_filter_response,
        }
        x = step(normalise[self.norm](x))
        if not activated:
            return x
        return step(x) if self.norm == "filter-response" else ACTIVATIONS[self.activation](x)


@dataclass(frozen=True)
class ResNet(Residual):
    """Residual network with post-activation (He et al. 2016a), by default ResNet-18.

    Layers and weights are in the same order as in torchvision.

    Attributes:
        stem: "cifar" for a first convolution of size 3; "imagenet" for one of size 7 and stride 2, and max-pooling.
    """

    stem: str = "cifar"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stem not in STEMS:
            raise ValueError(f"unknown stem {self.stem!r}; choose one of {', '.join(STEMS)}")

    @property
    def layers(self) -> list[Layer]:
        kernel, stride, padding = (7, 2, 3) if self.stem == "imagenet" else (3, 1, 1)
        first = Conv2d(self.image[0], self.widths[0], kernel, stride, padding, bias=False)
        layers: list[Layer] = [first, *self._norm(self.widths[0])]
        for before, after, stride in self._blocks():
            layers += [Conv2d(before, after, stride=stride, bias=False), *self._norm(after)]
            layers += [Conv2d(after, after, bias=False), *self._norm(after, activated=False)]
            if projects(before, after, stride):
                layers += [Conv2d(before, after, 1, stride, 0, bias=False), *self._norm(after, activated=False)]
        return [*layers, Dense(self.widths[-1], self.n_outputs)]

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        step = in_order(self.layers, apply)
        x = self._normalised(step, step(x.reshape(-1, *self.image)))
        if self.stem == "imagenet":
            x = max_pool2d(x, 3, stride=2, padding=1)
        for block in self._blocks():
            inner = self._normalised(step, step(x))
            inner = self._normalised(step, step(inner), activated=False)
            shortcut = self._normalised(step, step(x), activated=False) if projects(*block) else x
            x = ACTIVATIONS[self.activation](inner + shortcut)
        return step(x.mean((2, 3)))


@dataclass(frozen=True)
class PreActResNet(Residual):
    """Residual network with pre-activation (He et al. 2016b), by default PreActResNet-18."""

    @property
    def layers(self) -> list[Layer]:
        layers: list[Layer] = [Conv2d(self.image[0], self.widths[0], bias=False)]
        for before, after, stride in self._blocks():
            layers += [*self._norm(before), Conv2d(before, after, stride=stride, bias=False)]
            layers += [*self._norm(after), Conv2d(after, after, bias=False)]
            layers += [Conv2d(before, after, 1, stride, 0, bias=False)] * projects(before, after, stride)
        return [*layers, *self._norm(self.widths[-1]), Dense(self.widths[-1], self.n_outputs)]

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        step = in_order(self.layers, apply)
        x = step(x.reshape(-1, *self.image))
        for block in self._blocks():
            active = self._normalised(step, x)
            inner = step(self._normalised(step, step(active)))
            x = inner + (step(active) if projects(*block) else x)
        return step(self._normalised(step, x).mean((2, 3)))


def preresnet_20(image: tuple[int, int, int] = (3, 32, 32), n_outputs: int = 10, norm: str = "batch") -> PreActResNet:
    """Return the pre-activation ResNet of 20 layers for small images (He et al. 2016b)."""
    return PreActResNet(image, n_outputs, widths=(16, 32, 64), blocks=3, norm=norm)


def projects(before: int, after: int, stride: int) -> bool:
    """Return whether a block's shortcut is a convolution, given its channels `before` and `after` and its stride."""
    return before != after or stride > 1


def body_from_torchvision(network: Network, state: Mapping[str, Tensor]) -> Tensor:
    """Return the weights of a torchvision model, as a flat vector for `network`, of all layers but the last.

    Args:
        network: network with the same stem, stages and normalisation.
        state: `state_dict` of `torchvision.models.resnet18` or a similar model.

    Returns:
        The first weights of `network`, (D - weights of the last layer,).

    Raises:
        ValueError: if torchvision has no such network, or a layer is missing from `state` or has another shape.
    """
    if not isinstance(network, ResNet):
        raise ValueError(f"torchvision's weights fit a ResNet only; got {type(network).__name__}")
    if network.norm == "filter-response":
        raise ValueError("torchvision's ResNets have no filter response normalisation; give the network norm='batch'")
    body = zip(_torchvision_names(network), network.layers[:-1], strict=True)
    return torch.cat([piece for name, layer in body for piece in _torchvision_pieces(state, name, layer)])


def _torchvision_names(network: ResNet) -> list[str]:
    """Return torchvision's names of all layers but the last."""
    names = ["conv1", "bn1"]
    for number, block in enumerate(network._blocks()):
        parts = ["conv1", "bn1", "conv2", "bn2", *["downsample.0", "downsample.1"] * projects(*block)]
        stage, place = divmod(number, network.blocks)
        names += [f"layer{stage + 1}.{place}.{part}" for part in parts]
    return names


def _torchvision_pieces(state: Mapping[str, Tensor], name: str, layer: Layer) -> list[Tensor]:
    """Return the flat pieces of one layer."""
    pieces = []
    for part, size in zip(("weight", "bias"), layer.sizes, strict=False):  # convolutions have no bias
        weight = state.get(f"{name}.{part}")
        if weight is None or weight.numel() != size:
            got = "is missing" if weight is None else f"has shape {tuple(weight.shape)}"
            raise ValueError(f"{name}.{part} {got}; {layer} needs {size} numbers")
        pieces.append((weight.T if isinstance(layer, Dense) and part == "weight" else weight).flatten())
    return pieces
