"""Plain convolutional networks: convolutions with activations and optional pooling, then fully connected layers."""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from lockstep_bench.methods.networks.layers import Conv2d, Dense, Layer
from lockstep_bench.methods.networks.mlp import ACTIVATIONS, MLP, Apply, Chain, in_order

Stages = list[tuple[Conv2d, bool]]  # each convolution, and whether pooling follows


class Convolutional(Chain):
    """Base of plain convolutional networks; a subclass defines the convolutions and the pooling.

    Attributes:
        image: shape (channels, height, width) of one input, which is passed flattened.
        n_outputs: O, the number of outputs; outputs are not activated.
        activation: a key of `ACTIVATIONS`, applied after every layer but the last.
        hidden: the number of units of each fully connected layer before the last.
        bias: whether layers have biases.
    """

    image: tuple[int, int, int]
    n_outputs: int
    activation: str
    hidden: tuple[int, ...] = ()
    bias: bool = True

    @property
    @abstractmethod
    def stages(self) -> Stages:
        """The convolutions in order, each with a boolean: whether its activated outputs are pooled."""

    def pool(self, x: Tensor) -> Tensor:
        """Return x (M, C, H, W) pooled to half the height and width."""
        raise NotImplementedError(f"{type(self).__name__} has a pooled stage and must override `pool`")

    @property
    def layers(self) -> list[Layer]:
        stages, (channels, height, width) = self.stages, self.image
        for conv, pooled in stages:
            sides = (conv.side(side) // (2 if pooled else 1) for side in (height, width))
            channels, height, width = conv.channels_out, *sides
        if min(height, width) < 1:
            raise ValueError(
                f"images {self.image} are too small for {type(self).__name__}: no position is left after pooling"
            )
        units = (channels * height * width, *self.hidden, self.n_outputs)
        dense = [Dense(fan_in, fan_out, self.bias) for fan_in, fan_out in pairwise(units)]
        return [*(conv for conv, _ in stages), *dense]

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        activate, step = ACTIVATIONS[self.activation], in_order(self.layers, apply)
        x = x.reshape(-1, *self.image)
        for _, pooled in self.stages:
            x = activate(step(x))
            x = self.pool(x) if pooled else x
        x = x.flatten(1)
        for _ in self.hidden:
            x = activate(step(x))
        return step(x)

    def linear(self) -> MLP:
        channels, height, width = self.image
        return MLP(channels * height * width, (), self.n_outputs, self.activation, self.bias)


@dataclass(frozen=True)
class ConvNet(Convolutional):
    """Convolutions of stride 2, each of which halves the image, and a final linear layer.

    Attributes:
        image: shape (channels, height, width) of one input, which is passed flattened.
        channels: output channels of each convolution.
        n_outputs: O, the number of outputs; outputs are not activated.
        activation: a key of `ACTIVATIONS`, applied after every convolution.
        bias: whether layers have biases.
    """

    image: tuple[int, int, int]
    channels: tuple[int, ...] = (8, 16)
    n_outputs: int = 1
    activation: str = "relu"
    bias: bool = True

    @property
    def stages(self) -> Stages:
        channels = (self.image[0], *self.channels)
        return [(Conv2d(before, after, stride=2, bias=self.bias), False) for before, after in pairwise(channels)]


@dataclass(frozen=True)
class LeNet(Convolutional):
    """LeNet-5 (LeCun et al. 1998) in its modern form: feature maps are fully connected, and pooling has no weights.

    The first convolution is padded. Images of 28 x 28 therefore give 61,706 weights, as many as images of 32 x 32 give
    in the original.

    Attributes:
        image: shape (channels, height, width) of one input, which is passed flattened; at least 12 x 12.
        n_outputs: O, the number of outputs; outputs are not activated.
        activation: a key of `ACTIVATIONS`.
    """

    image: tuple[int, int, int] = (1, 28, 28)
    n_outputs: int = 10
    activation: str = "relu"

    hidden = (120, 84)

    @property
    def stages(self) -> Stages:
        return [(Conv2d(self.image[0], 6, 5, padding=2), True), (Conv2d(6, 16, 5, padding=0), True)]

    def pool(self, x: Tensor) -> Tensor:
        return avg_pool2d(x, 2)


@dataclass(frozen=True)
class AlexNet(Convolutional):
    """AlexNet for images of 32 x 32: the five convolutions of Krizhevsky et al. 2012 and one linear layer.

    The original has three linear layers after feature maps of 6 x 6 positions. Images of 32 x 32 leave maps of one
    position, for which one linear layer suffices. The network has 2,472,266 weights for three channels and ten classes,
    and no dropout, like a common variant for CIFAR.

    Attributes:
        image: shape (channels, height, width) of one input, which is passed flattened; at least 25 x 25.
        n_outputs: O, the number of outputs; outputs are not activated.
        activation: a key of `ACTIVATIONS`.
    """

    image: tuple[int, int, int] = (3, 32, 32)
    n_outputs: int = 10
    activation: str = "relu"

    @property
    def stages(self) -> Stages:
        return [
            (Conv2d(self.image[0], 64, 11, stride=4, padding=5), True),
            (Conv2d(64, 192, 5, padding=2), True),
            (Conv2d(192, 384), False),
            (Conv2d(384, 256), False),
            (Conv2d(256, 256), True),
        ]

    def pool(self, x: Tensor) -> Tensor:
        return max_pool2d(x, 2)
