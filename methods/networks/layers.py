"""Layers as functions of flat weights, so that a method can sample, project or mask the weights of one layer.

A network's flat weight vector is the concatenation of its layers' *pieces*. A matrix layer (`Dense`, `Conv2d`) has one
piece for its kernel and, if it has a bias, one for the bias. The pieces can also be written as one matrix
(d_out, d_in), whose last column is the bias. The layers in `methods.networks.normalisation` have weights per channel.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch.nn.functional import conv2d

from lockstep_bench.methods.maths.noise import Noise

Pieces = tuple[Tensor, ...]


class Layer(Protocol):
    """Interface of a layer with weights."""

    @property
    def sizes(self) -> list[int]:
        """The number of weights in each piece."""

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        """Return the layer's outputs for flat pieces and a batch of inputs."""

    def initial(self, noise: Noise) -> Tensor:
        """Draw initial weights, all pieces concatenated into one flat vector."""


class Matrix(ABC):
    """Base of layers that multiply by a matrix. Outputs are linear in weights and bias."""

    bias: bool

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape (d_out, d_in) of the weights as one matrix; d_in counts the bias column."""

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """The number of weights in each piece: kernel, then bias if there is one."""

    @abstractmethod
    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        """Return the layer's outputs for flat pieces and a batch of inputs."""

    @abstractmethod
    def pieces(self, matrix: Tensor) -> Pieces:
        """Return the flat kernel and bias of weights given as one matrix (d_out, d_in); its last column is the bias."""

    def initial(self, noise: Noise) -> Tensor:
        """Draw weights and bias from U(-1/sqrt(fan_in), 1/sqrt(fan_in)), the default of `torch.nn`."""
        return (2 * noise.uniform(sum(self.sizes)) - 1) * initial_scale(self)


@dataclass(frozen=True)
class Dense(Matrix):
    """Fully connected layer x W + b, with W flattened from (fan_in, fan_out) in row-major order.

    Attributes:
        fan_in: number of inputs.
        fan_out: number of outputs.
        bias: whether there is a bias b, (fan_out,).
    """

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
    """Convolution of x (M, channels_in, H, W) with square kernels, as in `torch.nn.Conv2d`.

    The kernel piece is flattened from (channels_out, channels_in, kernel, kernel) in row-major order. As a matrix it is
    (channels_out, channels_in kernel^2).

    Attributes:
        channels_in: number of input channels.
        channels_out: number of output channels.
        kernel: height and width of the kernel.
        stride: step between positions.
        padding: zeros added on each side of the image.
        bias: whether there is a bias, (channels_out,).
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
        """Return the height of the outputs for inputs of height `before`; the same formula holds for widths."""
        return (before + 2 * self.padding - self.kernel) // self.stride + 1


def fan_in(layer: Matrix) -> int:
    """Return the number of inputs that each output depends on, without the bias."""
    return layer.shape[1] - layer.bias


def initial_scale(layer: Matrix) -> float:
    """Return 1 / sqrt(fan_in), the bound of the uniform distribution of initial weights in `torch.nn`."""
    return 1 / math.sqrt(fan_in(layer))
