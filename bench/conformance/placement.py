"""Does a method keep to the device it is given? Its steps are run on torch's meta device, in the place of a GPU.

Tensors there have shapes and no contents, so this needs no accelerator. An operation that would mix them with a tensor
in the CPU's memory is refused as a GPU would refuse it, but for matrix products and indexing, which torch lets pass.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.engine.minibatches import Schedule
from bench.engine.private_torch import tree_leaves, tree_map
from bench.engine.replica import Data, Fit, Model, Replica, replicas_of
from methods.base import Method
from methods.maths.noise import Noise
from methods.problem import Step, Task

ELSEWHERE = torch.device("meta")
TAPE_NUMBERS = 1 << 30  # without contents, so that no method asks for more


def stray(
    method: Method, task: Task, data: Data, hparams: Mapping[str, float], schedule: Schedule, n_samples: int
) -> str | None:
    """The first step of a method whose result is not on the device of what it was given; None if there is none.

    Raises RuntimeError where a step mixes devices, or asks for a tensor's value.
    """
    model, fit = Model(method, task, torch.float64), Fit(np.arange(len(data.x)), hparams, 0)
    replicas = replicas_of([fit], data, model.dtype, standardise_x=True, standardise_y=model.likelihood.standardises)
    steps = _steps(model, tree_map(_first, replicas), data.x.to(ELSEWHERE), data.y.to(ELSEWHERE), schedule, n_samples)
    return next((name for name, result in steps if not all(map(_is_there, tree_leaves(result)))), None)


def _steps(
    model: Model, replica: Replica, x: Tensor, y: Tensor, schedule: Schedule, n_samples: int
) -> Iterator[tuple[str, Any]]:
    """Every step of a fit, by name, and its result."""
    method, plan = model.method, schedule.plan
    state = model.init(replica, _noise(model))
    yield "init", state
    index = _empty(method.batches_per_update, schedule.minibatch, dtype=torch.int64)
    for phase in dict.fromkeys(method.phase(update, plan) for update in range(1, plan.n_updates + 1)):
        step = Step(_empty(dtype=model.dtype), phase)
        yield "update", model.update(replica, x, y, index, state, _noise(model), step)
    if method.sweeps:
        state = model.sweep(replica, x, y, index[0], _empty(schedule.minibatch, dtype=model.dtype), state)
        yield "sweep", state
    posterior = model.finish(replica, state)
    yield "finish", posterior
    yield "diagnostics", model.diagnostics(replica, posterior)
    yield "predict", model.predict(replica, posterior, x, _noise(model), n_samples)


def _is_there(leaf: Any) -> bool:
    return not isinstance(leaf, Tensor) or leaf.device == ELSEWHERE


def _first(leaf: Tensor) -> Tensor:
    return leaf[0].to(ELSEWHERE)


def _noise(model: Model) -> Noise:
    return Noise(_empty(TAPE_NUMBERS, dtype=model.dtype))


def _empty(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=ELSEWHERE)
