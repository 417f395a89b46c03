"""Networks in mixed precision: matrix products and convolutions in bfloat16, everything else in float32.

bfloat16 has float32's range, so gradients need no scaling, but 8 instead of 24 bits of precision. Only forward and
backward passes through a network use it. A method's weights, noise, moments, divergences and optimiser stay in float32:
posterior standard deviations are often too small, relative to the mean, to be represented in 8 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lockstep_bench.methods.networks.mlp import Apply, Network

DTYPES: dict[str, torch.dtype | None] = {"float32": None, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Mixed:
    """A network whose layers run in low precision, forward and backward; weights, inputs and outputs do not.

    Attributes:
        network: the network to run. Its attributes are also attributes of this object.
        dtype: data type of matrix products and convolutions, `torch.bfloat16`.
    """

    network: Network
    dtype: torch.dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(self.network, name)

    def __call__(self, weights: Tensor, x: Tensor) -> Tensor:
        return self._autocast(x, lambda: self.network(weights, x))

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        return self._autocast(x, lambda: self.network.forward(x, apply))

    def _autocast(self, x: Tensor, run: Callable[[], Tensor]) -> Tensor:
        with torch.autocast(x.device.type, self.dtype):
            outputs = run()
        return outputs.to(x.dtype)
