"""Networks in mixed precision: products of matrices and convolutions in 16 bits, everything else as it was.

bfloat16 has the range of float32 and 8 of its 24 bits of precision, so gradients need no scaling. Only the passes
through a network are made of it. What a method does with weights and gradients, its noise, moments, divergences and
optimiser, stays in full precision: a posterior's standard deviations are often smaller than what 8 bits can tell from
the mean.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from methods.networks.mlp import Apply, Network

DTYPES = {"float32": None, "bfloat16": torch.bfloat16}


class Mixed:
    """A network whose layers work in 16 bits, forwards and backwards; its weights, inputs and outputs do not.

    Args:
        network: of which everything but the precision is taken.
        dtype: `torch.bfloat16`.
    """

    def __init__(self, network: Network, dtype: torch.dtype):
        self._network, self._dtype = network, dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        return self._in_short(x, lambda: self._network(weights, x))

    def forward(self, x: Tensor, apply: Apply) -> Any:
        return self._in_short(x, lambda: self._network.forward(x, apply))

    def _in_short(self, x: Tensor, work: Callable[[], Any]) -> Any:
        with torch.autocast(x.device.type, self._dtype):
            outputs = work()
        return tree_map(lambda tensor: tensor.to(x.dtype), outputs)
