"""Gradients of single examples in the weights of a network, without a vector of all weights for each example.

The gradient in the weights of a dense layer is an outer product a d^T, of the layer's inputs a, with a 1 for the bias,
and the gradient d in its outputs. Sums and products over the weights then need a and d alone: for two examples,
<a d^T, b e^T> = (a^T b) (d^T e). The gradients in all other layers are kept as vectors.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.func import vjp, vmap

from lockstep_bench.methods.networks.layers import Dense, Layer
from lockstep_bench.methods.networks.mlp import Network


class LayerGradients(Protocol):
    """Gradients of n examples in the D weights of a layer, the rows of a matrix G (n, D)."""

    def gram(self) -> Tensor:
        """Return G G^T, (n, n)."""

    def products(self, vectors: Tensor) -> Tensor:
        """Return the inner products of vectors (K, D) and gradients, V G^T, (K, n)."""

    def combined(self, coefficients: Tensor) -> Tensor:
        """Return linear combinations C G of the gradients, (K, D), for coefficients (K, n)."""

    def squares(self) -> Tensor:
        """Return the sum of the squares of the gradients, (D,)."""

    def mean(self) -> Tensor:
        """Return the mean gradient, (D,)."""


class Vectors(NamedTuple):
    """Gradients as vectors.

    Attributes:
        rows: (n, D).
    """

    rows: Tensor

    def gram(self) -> Tensor:
        return self.rows @ self.rows.T

    def products(self, vectors: Tensor) -> Tensor:
        return vectors @ self.rows.T

    def combined(self, coefficients: Tensor) -> Tensor:
        return coefficients @ self.rows

    def squares(self) -> Tensor:
        return self.rows.square().sum(0)

    def mean(self) -> Tensor:
        return self.rows.mean(0)


class OuterProducts(NamedTuple):
    """Gradients in the weights of a dense layer, as outer products; D = I O.

    Attributes:
        inputs: (n, I), inputs of the layer, with a 1 for its bias.
        outputs: (n, O), gradients in its outputs.
    """

    inputs: Tensor
    outputs: Tensor

    def gram(self) -> Tensor:
        return (self.inputs @ self.inputs.T) * (self.outputs @ self.outputs.T)

    def products(self, vectors: Tensor) -> Tensor:
        matrices = vectors.reshape(len(vectors), self.inputs.shape[1], self.outputs.shape[1])
        return ((self.inputs @ matrices) * self.outputs).sum(2)

    def combined(self, coefficients: Tensor) -> Tensor:
        return (self.inputs.T @ (coefficients[:, :, None] * self.outputs)).flatten(1)

    def squares(self) -> Tensor:
        return (self.inputs.square().T @ self.outputs.square()).flatten()

    def mean(self) -> Tensor:
        return (self.inputs.T @ self.outputs / len(self.inputs)).flatten()


class ExampleGradients(NamedTuple):
    """Gradients of n examples in all D weights of a network, the rows of a matrix G (n, D).

    Attributes:
        layers: those in the weights of each layer.
        sizes: number of weights of each layer; their sum is D.
    """

    layers: Sequence[LayerGradients]
    sizes: list[int]

    def gram(self) -> Tensor:
        """Return G G^T, (n, n)."""
        return reduce(Tensor.add, (layer.gram() for layer in self.layers))

    def products(self, vectors: Tensor) -> Tensor:
        """Return the inner products of vectors (K, D) and gradients, V G^T, (K, n)."""
        parts = torch.split(vectors, self.sizes, dim=1)
        return reduce(Tensor.add, (layer.products(part) for layer, part in zip(self.layers, parts, strict=True)))

    def combined(self, coefficients: Tensor) -> Tensor:
        """Return linear combinations C G of the gradients, (K, D), for coefficients (K, n)."""
        return torch.cat([layer.combined(coefficients) for layer in self.layers], dim=1)

    def squares(self) -> Tensor:
        """Return the sum of the squares of the gradients, (D,)."""
        return torch.cat([layer.squares() for layer in self.layers])

    def mean(self) -> Tensor:
        """Return the mean gradient, (D,)."""
        return torch.cat([layer.mean() for layer in self.layers])


def example_gradients(
    network: Network, loss: Callable[[Tensor, Tensor], Tensor], weights: Tensor, x: Tensor, y: Tensor
) -> tuple[ExampleGradients, Tensor]:
    """Return the gradients of the losses of M examples at S vectors of weights, and the losses (S, M).

    The n = S M gradients are in the order of the losses.

    Args:
        network: a network that does not couple rows.
        loss: maps outputs (M, O) and targets (M,) to the losses of the examples, (M,).
        weights: (S, D).
        x: (M, P), inputs.
        y: (M,), targets.
    """
    layers = network.layers

    def of_example(weights: Tensor, x: Tensor, y: Tensor) -> tuple[list[tuple[Tensor, ...]], Tensor]:
        pieces = network.split(weights)

        def differentiated(variables: list[Tensor]) -> tuple[Tensor, dict[int, Tensor]]:
            inputs = {}

            def apply(number: int, layer: Layer, h: Tensor) -> Tensor:
                if isinstance(layer, Dense):
                    inputs[number] = h[0].to(weights.dtype)  # of lower precision under autocast
                    return layer(pieces[number], h) + variables[number]
                return layer(torch.split(variables[number], layer.sizes), h)

            return loss(network.forward(x[None], apply), y[None])[0], inputs

        at = [
            weights.new_zeros(layer.fan_out) if isinstance(layer, Dense) else torch.cat(pieces[number])
            for number, layer in enumerate(layers)
        ]
        found: tuple[Any, ...] = vjp(differentiated, at, has_aux=True)
        value, pull_back, inputs = found
        (gradients,) = pull_back(torch.ones_like(value), retain_graph=False)
        return [(inputs[n], g) if n in inputs else (g,) for n, g in enumerate(gradients)], value

    of_examples = vmap(of_example, in_dims=(None, 0, 0))
    of_layers, losses = vmap(of_examples, in_dims=(0, None, None))(weights, x, y)
    flat = [[part.flatten(0, 1) for part in parts] for parts in of_layers]
    return ExampleGradients(
        [_of_layer(layer, *parts) for layer, parts in zip(layers, flat, strict=True)],
        [sum(layer.sizes) for layer in layers],
    ), losses


def _of_layer(layer: Layer, *parts: Tensor) -> LayerGradients:
    if not isinstance(layer, Dense):
        return Vectors(*parts)
    inputs, outputs = parts
    if layer.bias:
        inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)
    return OuterProducts(inputs, outputs)
