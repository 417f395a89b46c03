"""Networks as functions of one flat weight vector.

A network is a chain of `methods.networks.layers` with fixed nonlinearities between them, and perhaps sums of
branches. Networks
are frozen dataclasses with fields `n_outputs` and `activation`, so a method gets the variant it wants by
`dataclasses.replace`. Here is the contract and the multilayer perceptron; those of images are in
`methods.networks.convnets` and
`methods.networks.resnets`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from methods.maths.noise import Noise
from methods.networks.layers import Dense, Layer, Pieces

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "softplus": torch.nn.functional.softplus,
    "tanh": torch.tanh,
}

# (number of the layer, the layer, its inputs) -> its outputs
Apply = Callable[[int, Layer, Tensor], Tensor]


class Network(Protocol):
    """What a method may ask of a network.

    Attributes:
        n_outputs: O, number of outputs; they are not activated.
        activation: a key of `ACTIVATIONS`.
        image: (channels, height, width) of one input, which arrives flat; None where inputs are no images.
        couples_rows: whether the outputs at one row of x depend on the others, as under batch normalisation.
    """

    n_outputs: int
    activation: str
    image: tuple[int, int, int] | None
    couples_rows: bool

    @property
    def dim(self) -> int:
        """D, the number of weights."""

    @property
    def layers(self) -> Sequence[Layer]:
        """In the order of application and of the flat weight vector; the last is a `Dense`."""

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        """Outputs (M, O) at inputs x (M, P) for weights (D,)."""

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        """The same chain with `apply` in the place of each layer; what it returns for the last layer is returned."""

    def split(self, weights: Tensor) -> list[Pieces]:
        """The pieces of each layer, from one flat vector (D,)."""

    def linear(self) -> "Network":
        """A linear model of the same inputs and outputs."""

    def initial_weights(self, noise: Noise) -> Tensor:
        """Weights (D,) to start training from."""


class Chain:
    """What networks have in common: everything but `layers`, `forward` and `linear`."""

    image: ClassVar = None
    couples_rows: ClassVar[bool] = False

    @property
    def dim(self) -> int:
        return sum(sum(layer.sizes) for layer in self.layers)

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        pieces = self.split(weights)
        return self.forward(x, lambda number, layer, inputs: layer(pieces[number], inputs))

    def split(self, weights: Tensor) -> list[Pieces]:
        # One split for all layers, because its gradient is one concatenation.
        pieces = iter(weights.split([size for layer in self.layers for size in layer.sizes]))
        return [tuple(next(pieces) for _ in layer.sizes) for layer in self.layers]

    def initial_weights(self, noise: Noise) -> Tensor:
        """Those that each layer starts from, which are the defaults of `torch.nn`."""
        return torch.cat([layer.initial(noise) for layer in self.layers])


@dataclass(frozen=True)
class MLP(Chain):
    """A fully connected network with biases; without hidden layers it is a linear model.

    Attributes:
        n_inputs: P, number of features.
        hidden: units of each hidden layer.
        n_outputs: O, number of outputs; they are not activated.
        activation: a key of `ACTIVATIONS`, applied after every hidden layer.
        bias: whether layers have biases.
    """

    n_inputs: int
    hidden: tuple[int, ...] = (50,)
    n_outputs: int = 1
    activation: str = "relu"
    bias: bool = True

    @property
    def layers(self) -> list[Dense]:
        widths = (self.n_inputs, *self.hidden, self.n_outputs)
        return [Dense(fan_in, fan_out, self.bias) for fan_in, fan_out in pairwise(widths)]

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        activate = ACTIVATIONS[self.activation]
        for number, layer in enumerate(self.layers):
            x = apply(number, layer, x)
            if number < len(self.hidden):
                x = activate(x)
        return x

    def linear(self) -> "MLP":
        return replace(self, hidden=())


def features(network: Network, weights: Tensor, x: Tensor) -> Tensor:
    """Inputs of the last layer (M, H) at x (M, P)."""
    pieces, last = network.split(weights), len(network.layers) - 1
    return network.forward(x, lambda number, layer, h: h if number == last else layer(pieces[number], h))


def in_order(layers: Sequence[Layer], apply: Apply) -> Callable[[Tensor], Tensor]:
    """A function of inputs that applies the next of the layers at every call."""
    numbered = iter(enumerate(layers))
    return lambda x: apply(*next(numbered), x)
