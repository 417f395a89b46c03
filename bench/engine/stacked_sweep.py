"""One pass of a stack of networks over all training rows, for methods that need more than minibatches."""

from typing import Any

import torch
from torch import Tensor

from lockstep_bench.bench.engine.replica import Replica
from lockstep_bench.bench.engine.stack import Stack, side_by_side

SWEEP_NUMBERS = 1 << 15  # training rows x replicas swept at once


def sweep(stack: Stack, state: Any) -> Any:
    """Return the state after `Method.sweep` has seen every training row of each replica once.

    Args:
        stack: R replicas (networks that are trained together).
        state: state after the last update; every tensor has a leading axis of length R.
    """
    rows = [fit.rows for fit, _ in stack.members]
    longest = max(map(len, rows))
    index = stack.index(side_by_side(rows, longest))
    lengths = torch.tensor([[len(fit_rows)] for fit_rows in rows], device=index.device)
    present = (torch.arange(longest, device=index.device) < lengths).to(stack.model.dtype)

    def sweep_one(replica: Replica, index: Tensor, present: Tensor, state: Any) -> Any:
        return stack.model.sweep(replica, stack.data.x, stack.data.y, index, present, state)

    sweep_all = stack.vectorise(sweep_one)
    at_once = max(1, SWEEP_NUMBERS // len(rows))
    for places in torch.split(torch.arange(longest, device=index.device), at_once):
        state = sweep_all(stack.replicas, index[:, places], present[:, places], state)
    return state
