"""Layers, which methods sample, project or mask one at a time.

A layer's weights are pieces of the network's flat vector. Those of a matrix layer are a matrix and, if it has one, a
bias; as one matrix (d_out, d_in), the bias is the last column. Others, of which `methods.networks.normalisation`
has two, hold a
few numbers for each channel.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch.nn.functional import conv2d

from methods.maths.noise import Noise

Pieces = tuple[Tensor, ...]


class Layer(Protocol):
    """What a method may ask of any layer."""

    @property
    def sizes(self) -> list[int]:
        """Numbers in each of its pieces."""

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        """Outputs for flat pieces and a batch of inputs."""

    def initial(self, noise: Noise) -> Tensor:
        """Weights to start training from, all pieces in one flat vector."""


class Matrix(ABC):
    """What layers that multiply by a matrix have in common; their outputs are linear in the pieces taken together."""

    bias: bool

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(d_out, d_in) of its weights as one matrix, the bias counted in d_in."""

    @abstractmethod
    def pieces(self, matrix: Tensor) -> Pieces:
        """The flat pieces that a matrix (d_out, d_in) stands for."""

    def initial(self, noise: Noise) -> Tensor:
        """U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weights and bias, the default of `torch.nn`."""
        return (2 * noise.uniform(sum(self.sizes)) - 1) * initial_scale(self)


@dataclass(frozen=True)
class Dense(Matrix):
    """x W + b for x (M, fan_in); the flat matrix W is (fan_in, fan_out) in row-major order."""

    fan_in: int
    fan_out: int
    bias: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.fan_out, self.fan_in + self.bias

    @property
    def sizes(self) -> list[int]:
        return [self.fan_in * self.fan_out] + [self.fan_out] * self.bias

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        outputs = x @ pieces[0].reshape(self.fan_in, self.fan_out)
        return outputs + pieces[1] if self.bias else outputs

    def pieces(self, matrix: Tensor) -> Pieces:
        weight = matrix[:, : self.fan_in].T.reshape(-1)
        return (weight, matrix[:, self.fan_in]) if self.bias else (weight,)


@dataclass(frozen=True)
class Conv2d(Matrix):
    """Cross-correlation of x (M, channels_in, H, W) with square kernels.

    The flat kernel is (channels_out, channels_in, kernel, kernel) in row-major order, so that as a matrix it is
    channels_out x (channels_in kernel^2).
    """

    channels_in: int
    channels_out: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    bias: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.channels_out, self.channels_in * self.kernel**2 + self.bias

    @property
    def sizes(self) -> list[int]:
        return [self.channels_out * self.channels_in * self.kernel**2] + [self.channels_out] * self.bias

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        kernel = pieces[0].reshape(self.channels_out, self.channels_in, self.kernel, self.kernel)
        return conv2d(x, kernel, pieces[1] if self.bias else None, self.stride, self.padding)

    def pieces(self, matrix: Tensor) -> Pieces:
        end = self.channels_in * self.kernel**2
        weight = matrix[:, :end].reshape(-1)
        return (weight, matrix[:, end]) if self.bias else (weight,)

    def side(self, before: int) -> int:
        """Height or width of the outputs where that of the inputs is `before`."""
        return (before + 2 * self.padding - self.kernel) // self.stride + 1


def fan_in(layer: Matrix) -> int:
    """Inputs of one output of the layer, its bias not counted."""
    return layer.shape[1] - layer.bias


def initial_scale(layer: Matrix) -> float:
    """1 / sqrt(fan_in), the bound of the uniform distribution that `torch.nn` starts weights and biases from."""
    return 1 / math.sqrt(fan_in(layer))
