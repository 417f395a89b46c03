"""Finds tensors that a method creates on another device than the data's. Torch's meta device stands for a GPU.

Tensors on the meta device have shapes and no contents, so no GPU is needed. torch refuses most operations that mix them
with CPU tensors, as it would for a GPU. Matrix products and indexing are exceptions: torch lets them pass.
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

META = torch.device("meta")
NOISE_NUMBERS = 1 << 30  # more than any method draws; they have no contents and take no memory


def first_misplaced(
    method: Method, task: Task, data: Data, hparams: Mapping[str, float], schedule: Schedule, n_samples: int
) -> str | None:
    """Return the name of the first step whose result is not on the data's device; None if there is none.

    Args:
        method: to be checked.
        task: to train on.
        data: on the CPU; the steps get copies on the meta device.
        hparams: name -> value.
        schedule: gives the phases of updates, and the size of minibatches.
        n_samples: S, samples of the prediction.

    Raises:
        RuntimeError: if a step mixes devices, or reads a tensor's value.
    """
    model, fit = Model(method, task, torch.float64), Fit(np.arange(len(data.x)), hparams, 0)
    replicas = replicas_of([fit], data, model.dtype, standardise_x=True, standardise_y=model.likelihood.standardises)
    steps = _steps(model, tree_map(_first, replicas), data.x.to(META), data.y.to(META), schedule, n_samples)
    return next((name for name, result in steps if not all(map(_on_meta, tree_leaves(result)))), None)


def _steps(
    model: Model, replica: Replica, x: Tensor, y: Tensor, schedule: Schedule, n_samples: int
) -> Iterator[tuple[str, Any]]:
    """Yield the name and the result of each step of a fit."""
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


def _on_meta(leaf: Any) -> bool:
    return not isinstance(leaf, Tensor) or leaf.device == META


def _first(leaf: Tensor) -> Tensor:
    return leaf[0].to(META)


def _noise(model: Model) -> Noise:
    return Noise(_empty(NOISE_NUMBERS, dtype=model.dtype))


def _empty(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=META)
