"""Compiled stages of convolutional networks: a convolution, a rectifier and mean pooling, with their gradients.

The lanes of a SIMD value hold the same pixel of several images of a minibatch (`include/convolutions.hpp`). Between
stages, the images of a minibatch are therefore neighbours in memory. Other operations keep this order of strides.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.native.lanes import address, aligned
from lockstep_bench.bench.native.libraries import compiled, lanes
from lockstep_bench.bench.native.threads import in_threads

SOURCE = """\
#include "convolutions.hpp"

using S = stages::Stage<{arguments}>;
using stages::Images;
using stages::Signs;

static Images images(float* data, const int64_t* s) {{ return {{data, s[0], s[1], s[2], s[3]}}; }}
static int among(int64_t first, int64_t n) {{ return n - first < W ? n - first : W; }}

extern "C" {{

int64_t workspace_bytes() {{ return S::WORKSPACE * sizeof(F); }}
int64_t signs_bytes() {{ return S::OUTPUTS * sizeof(Signs); }}

void forward(int64_t block, int64_t end, int64_t n, float* to, const int64_t* to_strides, Signs* signs, float* from,
             const int64_t* from_strides, const float* weight, const float* bias, F* workspace) {{
    for (; block < end; block++)
        S::forward(images(to, to_strides), signs + block * S::OUTPUTS, images(from, from_strides), weight, bias,
                   block * W, among(block * W, n), workspace);
}}

void backward(int64_t block, int64_t end, int64_t n, float* to, const int64_t* to_strides, float* to_weight,
              float* to_bias, float* gradient, const int64_t* gradient_strides, const Signs* signs, float* from,
              const int64_t* from_strides, const float* weight, F* workspace) {{
    for (; block < end; block++)
        S::backward(images(to, to_strides), to_weight + block * S::N_WEIGHTS, to_bias + block * {channels_out},
                    images(gradient, gradient_strides), signs + block * S::OUTPUTS, images(from, from_strides), weight,
                    block * W, among(block * W, n), workspace);
}}

}}
"""


class Stage(NamedTuple):
    """A convolution of stride 1 with bias, a rectifier, and means of squares of pixels, all in single precision.

    Attributes:
        channels_in: number of input channels.
        height: height of the inputs, in pixels.
        width: width of the inputs.
        channels_out: number of output channels.
        kernel: height and width of the filters.
        padding: zeros on each side of the inputs, fewer than `kernel`.
        side: height and width of the squares, which do not overlap.
    """

    channels_in: int
    height: int
    width: int
    channels_out: int
    kernel: int
    padding: int
    side: int

    def library(self) -> ctypes.CDLL:
        """Return the compiled functions.

        Raises:
            NoCompiler: if they cannot be compiled.
        """
        return _library(self)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs (M, channels_out, H, W), and where the rectifier passes numbers on, for `backward`.

        Args:
            x: inputs (M, channels_in, height, width).
            weight: filters (channels_out, channels_in, kernel, kernel).
            bias: (channels_out,).
        """
        height, width = ((size + 2 * self.padding - self.kernel + 1) // self.side for size in (self.height, self.width))
        library, n, weight = self.library(), len(x), weight.contiguous()
        outputs = _images(n, self.channels_out, height, width)
        signs = torch.empty(_n_blocks(n) * library.signs_bytes(), dtype=torch.int8)
        bias = bias.contiguous()
        tensors = (*_strided(outputs), _pointer(signs), *_strided(x), _pointer(weight), _pointer(bias))
        _run(library, library.forward, n, tensors)
        return outputs, signs

    def backward(
        self, gradient: Tensor, signs: Tensor, x: Tensor, weight: Tensor, of_inputs: bool
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        """Return the gradients of a loss with respect to inputs, weights and biases.

        Args:
            gradient: gradient with respect to the outputs (M, channels_out, H, W).
            signs: second result of `forward` for the same inputs.
            x: inputs (M, channels_in, height, width).
            weight: filters (channels_out, channels_in, kernel, kernel).
            of_inputs: whether the gradient with respect to the inputs is needed; None is returned for it otherwise.
        """
        library, n, weight = self.library(), len(x), weight.contiguous()
        result = _images(n, self.channels_in, self.height, self.width) if of_inputs else None
        blocks = _n_blocks(n)
        weights, biases = torch.empty(blocks, *weight.shape), torch.empty(blocks, self.channels_out)
        tensors = (
            *(_strided(result) if result is not None else (None, _numbers([0] * 4))),
            *(_pointer(weights), _pointer(biases), *_strided(gradient), _pointer(signs), *_strided(x)),
            _pointer(weight),
        )
        _run(library, library.backward, n, tensors)
        return result, weights.sum(0), biases.sum(0)


@cache
def _library(stage: Stage) -> ctypes.CDLL:
    library = compiled(SOURCE.format(arguments=", ".join(map(str, stage)), channels_out=stage.channels_out))
    for function in (library.workspace_bytes, library.signs_bytes):
        function.restype = ctypes.c_int64
    return library


def _n_blocks(n: int) -> int:
    return -(-n // lanes())


def _images(n: int, channels: int, height: int, width: int) -> Tensor:
    """Return uninitialised images (n, channels, height, width), which are neighbours in memory."""
    return torch.empty(channels, height, width, n).permute(3, 0, 1, 2)


def _run(library: ctypes.CDLL, function: "ctypes._NamedFuncPointer", n: int, tensors: Sequence[object]) -> None:
    def run(first: int, end: int) -> None:
        workspace = aligned((library.workspace_bytes(),), np.dtype(np.uint8))
        function(*map(ctypes.c_int64, (first, end, n)), *tensors, address(workspace))

    in_threads(_n_blocks(n), run)


def _strided(tensor: Tensor) -> tuple[object, object]:
    return _pointer(tensor), _numbers(tensor.stride())


def _pointer(tensor: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def _numbers(numbers: Sequence[int]) -> object:
    return (ctypes.c_int64 * len(numbers))(*numbers)
