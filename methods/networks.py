"""Networks as functions of one flat weight vector."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

from methods.noise import Noise

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "softplus": torch.nn.functional.softplus,
    "tanh": torch.tanh,
}


class Network(Protocol):
    """What a method may ask of a network."""

    dim: int  # D, the number of weights

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        """Outputs (M, O) at inputs x (M, P) for weights (D,)."""

    def initial_weights(self, noise: Noise) -> Tensor:
        """Weights (D,) to start training from."""


@dataclass(frozen=True)
class MLP:
    """A fully connected network with biases; without hidden layers it is a linear model.

    The flat weight vector holds, layer by layer, the matrix (fan_in, fan_out) in row-major order and then the bias.

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
    def layers(self) -> list[tuple[int, int]]:
        """(fan_in, fan_out) of each layer."""
        widths = (self.n_inputs, *self.hidden, self.n_outputs)
        return list(pairwise(widths))

    @property
    def dim(self) -> int:
        return sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        """Numbers in each matrix and bias, in the order of the flat weight vector."""
        own = [[fan_in * fan_out] + [fan_out] * self.bias for fan_in, fan_out in self.layers]
        return [size for layer in own for size in layer]

    def linear(self) -> "MLP":
        """The same inputs and outputs without hidden layers."""
        return replace(self, hidden=())

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        activate = ACTIVATIONS[self.activation]
        # One split, because its gradient is one concatenation.
        pieces = iter(weights.split(self._sizes))
        for depth, (fan_in, fan_out) in enumerate(self.layers):
            x = x @ next(pieces).reshape(fan_in, fan_out)
            if self.bias:
                x = x + next(pieces)
            if depth < len(self.hidden):
                x = activate(x)
        return x

    def initial_weights(self, noise: Noise) -> Tensor:
        """U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for matrices and biases, the default of `torch.nn.Linear`."""
        layers = []
        for fan_in, fan_out in self.layers:
            unit = noise.uniform((fan_in + self.bias) * fan_out)
            layers.append((2 * unit - 1) / math.sqrt(fan_in))
        return torch.cat(layers)
