"""Networks as functions of one flat weight vector: their interface, and the multilayer perceptron.

A network is a chain of layers (`methods.networks.layers`) with fixed nonlinearities between them; branches may be added
up. Networks are frozen dataclasses, so a method gets a variant by `dataclasses.replace(network,
activation="softplus")`. Networks for images are in `methods.networks.convnets` and `methods.networks.resnets`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.layers import Dense, Layer, Pieces

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "softplus": torch.nn.functional.softplus,
    "tanh": torch.tanh,
}

# Signature: (index of the layer, the layer, its inputs) -> its outputs.
Apply = Callable[[int, Layer, Tensor], Tensor]


class Network(Protocol):
    """Interface of a network, a frozen dataclass. Shapes: M inputs of P features, O outputs, D weights."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def n_outputs(self) -> int:
        """O, the number of outputs; outputs are not activated."""

    @property
    def activation(self) -> str:
        """The activation function, a key of `ACTIVATIONS`."""

    @property
    def image(self) -> tuple[int, int, int] | None:
        """The shape (channels, height, width) of one input, passed flattened; None if inputs are not images."""

    @property
    def couples_rows(self) -> bool:
        """True if the outputs for one input depend on the other inputs, as under batch normalisation."""

    @property
    def dim(self) -> int:
        """D, the number of weights."""

    @property
    def layers(self) -> Sequence[Layer]:
        """The layers, in the order of application and of the flat weight vector; the last is a `Dense`."""

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        """Return outputs (M, O) at inputs x (M, P) for weights (D,)."""

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        """Run the network on x (M, P), calling `apply` in place of each layer; return the outputs."""

    def split(self, weights: Tensor) -> list[Pieces]:
        """Return the weights of each layer as its pieces (for example kernel and bias), given flat weights (D,)."""

    def linear(self) -> "Network":
        """Return a linear model of the same inputs and outputs."""

    def initial_weights(self, noise: Noise) -> Tensor:
        """Draw initial weights (D,)."""


class Chain(ABC):
    """Base of all networks: everything that follows from `layers` and `forward`."""

    image: tuple[int, int, int] | None = None

    @property
    @abstractmethod
    def layers(self) -> Sequence[Layer]:
        """The layers, in the order of application and of the flat weight vector."""

    @abstractmethod
    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        """Run the network on x (M, P), calling `apply` in place of each layer; return the outputs."""

    @abstractmethod
    def linear(self) -> Network:
        """Return a linear model of the same inputs and outputs."""

    @property
    def couples_rows(self) -> bool:
        """True if the outputs for one input depend on the other inputs."""
        return False

    @property
    def dim(self) -> int:
        """D, the number of weights."""
        return sum(sum(layer.sizes) for layer in self.layers)

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        pieces = self.split(weights)
        return self.forward(x, lambda number, layer, inputs: layer(pieces[number], inputs))

    def split(self, weights: Tensor) -> list[Pieces]:
        """Return the weights of each layer as its pieces (for example kernel and bias), given flat weights (D,)."""
        # One split for all layers, because its gradient is a single concatenation.
        pieces = iter(torch.split(weights, [size for layer in self.layers for size in layer.sizes]))
        return [tuple(next(pieces) for _ in layer.sizes) for layer in self.layers]

    def initial_weights(self, noise: Noise) -> Tensor:
        """Draw initial weights (D,), layer by layer, from the default distributions of `torch.nn`."""
        return torch.cat([layer.initial(noise) for layer in self.layers])


@dataclass(frozen=True)
class MLP(Chain):
    """Fully connected network; without hidden layers it is a linear model.

    Attributes:
        n_inputs: P, the number of features.
        hidden: the number of units of each hidden layer.
        n_outputs: O, the number of outputs; outputs are not activated.
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
    """Return the inputs of the last layer, (M, H), at network inputs x (M, P) for weights (D,)."""
    pieces, last = network.split(weights), len(network.layers) - 1
    return network.forward(x, lambda number, layer, h: h if number == last else layer(pieces[number], h))


def in_order(layers: Sequence[Layer], apply: Apply) -> Callable[[Tensor], Tensor]:
    """Return a function whose k-th call applies the k-th layer to its argument."""
    numbered = iter(enumerate(layers))
    return lambda x: apply(*next(numbered), x)
