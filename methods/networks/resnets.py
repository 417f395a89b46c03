"""Residual networks of two convolutions per block, with the normalisation of choice.

    ResNet          x' = activate(f(x) + x),  f = norm conv activate norm conv                     (He et al. 2016a)
    PreActResNet    x' = f(x) + x,            f = conv activate norm conv activate norm            (He et al. 2016b)

Where a block changes the number of channels or positions, a convolution of size 1 takes the place of x: normalised in
the first, and of the activated inputs in the second. Convolutions have no biases.

With batch normalisation (`methods.networks.normalisation`) a row's outputs depend on the other rows of x. In
training those are
the minibatch; to predict, the field `n_reference` says how many training inputs come first in x, and statistics are
then theirs alone: put them before the points, and drop their outputs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from methods.networks.layers import Conv2d, Dense, Layer
from methods.networks.mlp import ACTIVATIONS, MLP, Apply, Chain, in_order
from methods.networks.normalisation import KINDS, Scale, Threshold, by_batch, by_filter_response, by_group

STEMS = ("cifar", "imagenet")


@dataclass(frozen=True)
class Residual(Chain):
    """What the two have in common.

    Attributes:
        image: (channels, height, width) of one input, which arrives flat (M, channels height width).
        n_outputs: O, number of outputs; they are not activated.
        widths: channels of each stage; every stage after the first halves the image.
        blocks: in each stage.
        norm: one of `normalisation.KINDS`.
        n_reference: under batch normalisation, how many first rows of x the statistics are of; 0 for all.
        activation: a key of `ACTIVATIONS`.
    """

    image: tuple[int, int, int] = (3, 32, 32)
    n_outputs: int = 10
    widths: tuple[int, ...] = (64, 128, 256, 512)
    blocks: int = 2
    norm: str = "batch"
    n_reference: int = 0
    activation: str = "relu"

    def __post_init__(self):
        if self.norm not in KINDS:
            raise ValueError(f"norm is one of {', '.join(KINDS)}; got {self.norm!r}")

    @property
    def couples_rows(self) -> bool:
        return self.norm == "batch"

    def linear(self) -> MLP:
        channels, height, width = self.image
        return MLP(channels * height * width, (), self.n_outputs, self.activation)

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """Channels before and after each block, and its stride."""
        for number, (before, after) in enumerate(pairwise((self.widths[0], *self.widths))):
            yield before, after, 2 if number else 1
            for _ in range(self.blocks - 1):
                yield after, after, 1

    def _norm(self, channels: int, activated: bool = True) -> list[Layer]:
        """The layers of one normalisation, and of the activation if one follows."""
        thresholded = activated and self.norm == "filter-response"
        return [Scale(channels), *[Threshold(channels, ACTIVATIONS[self.activation])] * thresholded]

    def _normalised(self, step: Callable[[Tensor], Tensor], x: Tensor, activated: bool = True) -> Tensor:
        """x normalised, scaled and perhaps activated; `step` applies those layers."""
        normalise = {
            "batch": partial(by_batch, n_reference=self.n_reference),
            "group": by_group,
            "filter-response": by_filter_response,
        }[self.norm]
        x = step(normalise(x))
        if not activated:
            return x
        return step(x) if self.norm == "filter-response" else ACTIVATIONS[self.activation](x)


@dataclass(frozen=True)
class ResNet(Residual):
    """ResNet-18 by default; layers and weights are in the order of torchvision's.

    Attributes:
        stem: "cifar", a convolution of size 3, or "imagenet", one of size 7 and stride 2, and pooling.
    """

    stem: str = "cifar"

    def __post_init__(self):
        super().__post_init__()
        if self.stem not in STEMS:
            raise ValueError(f"stem is one of {', '.join(STEMS)}; got {self.stem!r}")

    @property
    def layers(self) -> list[Layer]:
        kernel, stride, padding = (7, 2, 3) if self.stem == "imagenet" else (3, 1, 1)
        first = Conv2d(self.image[0], self.widths[0], kernel, stride, padding, bias=False)
        layers = [first, *self._norm(self.widths[0])]
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
    """PreAct ResNet-18 by default; `widths=(16, 32, 64), blocks=3` is PreResNet-20."""

    @property
    def layers(self) -> list[Layer]:
        layers = [Conv2d(self.image[0], self.widths[0], bias=False)]
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
    """The pre-activation ResNet of 20 layers for small images (He et al. 2016b)."""
    return PreActResNet(image, n_outputs, widths=(16, 32, 64), blocks=3, norm=norm)


def projects(before: int, after: int, stride: int) -> bool:
    """Whether a block's shortcut is a convolution."""
    return before != after or stride > 1


def from_torchvision(network: ResNet, state: Mapping[str, Tensor]) -> Tensor:
    """The flat weights (D,) of a `state_dict` of torchvision's ResNet; its running statistics are not used.

    Args:
        network: with the same stem, stages, batch normalisation and number of outputs.
        state: of `torchvision.models.resnet18` and the like.

    Raises ValueError where a layer is missing or has another shape.
    """
    last = _torchvision_pieces(state, "fc", network.layers[-1])
    return torch.cat([body_from_torchvision(network, state), *last])


def body_from_torchvision(network: ResNet, state: Mapping[str, Tensor]) -> Tensor:
    """The same for all layers but the last, so for any number of outputs."""
    if not isinstance(network, ResNet):
        raise ValueError(f"torchvision's weights are those of a ResNet; got {type(network).__name__}")
    if network.norm == "filter-response":
        raise ValueError("torchvision's ResNets have no filter response normalisation; give the network norm='batch'")
    body = zip(_torchvision_names(network), network.layers[:-1], strict=True)
    return torch.cat([piece for name, layer in body for piece in _torchvision_pieces(state, name, layer)])


def _torchvision_names(network: ResNet) -> list[str]:
    """What torchvision calls each layer but the last."""
    names = ["conv1", "bn1"]
    for number, block in enumerate(network._blocks()):
        parts = ["conv1", "bn1", "conv2", "bn2", *["downsample.0", "downsample.1"] * projects(*block)]
        stage, place = divmod(number, network.blocks)
        names += [f"layer{stage + 1}.{place}.{part}" for part in parts]
    return names


def _torchvision_pieces(state: Mapping[str, Tensor], name: str, layer: Layer) -> list[Tensor]:
    """The flat pieces of one layer."""
    pieces = []
    for part, size in zip(("weight", "bias"), layer.sizes, strict=False):  # convolutions have no bias
        found = state.get(f"{name}.{part}")
        if found is None or found.numel() != size:
            got = "is missing" if found is None else f"has shape {tuple(found.shape)}"
            raise ValueError(f"{name}.{part} {got}; {layer} needs {size} numbers")
        pieces.append((found.T if isinstance(layer, Dense) and part == "weight" else found).flatten())
    return pieces
