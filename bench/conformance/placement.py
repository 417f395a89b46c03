"""Search for tensors that a method creates on the wrong device or with the wrong data type.

Torch's meta device stands for a GPU, so that no GPU is needed. Tensors on it have shapes but no contents. torch refuses
most operations that mix them with CPU tensors, as it would on a GPU. It does not refuse matrix products and indexing,
so the devices of results are checked too.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import keystr, tree_flatten_with_path, tree_leaves, tree_map
from lockstep_bench.bench.engine.replica import Data, Fit, Replica, ReplicaModel, replicas_of
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.problem import Step, Task

META = torch.device("meta")
KEPT = {"init": "state", "update": "state", "sweep": "state", "finish": "posterior"}  # what steps return
NOISE_NUMBERS = 1 << 30  # more than any method draws; they have no contents and take no memory


def first_misplaced(
    method: Method, task: Task, data: Data, hparams: Mapping[str, float], schedule: Schedule, n_samples: int
) -> str | None:
    """Return the first function of a method, such as `init`, whose result is not on the data's device, or None.

    Args:
        method: the method to check.
        task: the task to train on.
        data: training data on the CPU; the steps get copies on the meta device.
        hparams: hyper-parameters, name -> value.
        schedule: gives the phases of updates, and the size of minibatches.
        n_samples: S, number of weight samples of the prediction.

    Raises:
        RuntimeError: if a function mixes devices, or reads a tensor's value.
    """
    model = ReplicaModel(method, task, torch.float64)
    replica = tree_map(lambda leaf: leaf.to(META), _replica(model, data, hparams))
    x, y = data.x.to(META), data.y.to(META)

    def noise() -> Noise:
        return Noise(torch.empty(NOISE_NUMBERS, dtype=model.dtype, device=META))

    steps = _steps(model, replica, x, y, schedule, n_samples, noise)
    return next((name for name, result in steps if not all(map(_on_meta, tree_leaves(result)))), None)


def first_double(
    method: Method, task: Task, data: Data, hparams: Mapping[str, float], schedule: Schedule
) -> str | None:
    """Return the first float64 tensor in a state or posterior of a fit that runs in float32, or None.

    Args:
        method: the method to check.
        task: the task to train on.
        data: training data.
        hparams: hyper-parameters, name -> value.
        schedule: gives the phases of updates, and the size of minibatches.

    Returns:
        The function and the tensor in its result, as in "`init`: state.weights"; None if there is no such tensor.
    """
    model = ReplicaModel(method, task, torch.float32)
    replica = _replica(model, data, hparams)
    steps = _steps(model, replica, data.x, data.y, schedule, 1, lambda: NoiseGauge(model.dtype, data.x.device))
    for name, result in steps:
        for place, leaf in tree_flatten_with_path(result)[0]:
            if name in KEPT and isinstance(leaf, Tensor) and leaf.dtype == torch.float64:
                return f"`{name}`: {KEPT[name]}{keystr(place)}"
    return None


def _replica(model: ReplicaModel, data: Data, hparams: Mapping[str, float]) -> Replica:
    fit = Fit(np.arange(len(data.x)), hparams, 0)
    replicas = replicas_of([fit], data, model.dtype, standardise_x=True, standardise_y=model.likelihood.standardises)
    replica: Replica = tree_map(itemgetter(0), replicas)
    return replica


def _steps(
    model: ReplicaModel,
    replica: Replica,
    x: Tensor,
    y: Tensor,
    schedule: Schedule,
    n_samples: int,
    noise: Callable[[], Noise],
) -> Iterator[tuple[str, Any]]:
    """Yield the name and the result of each step of a fit."""
    method, plan = model.method, schedule.plan
    state = model.init(replica, noise())
    yield "init", state
    index = torch.zeros(method.batches_per_update, schedule.minibatch, dtype=torch.int64, device=x.device)
    first = torch.ones((), dtype=model.dtype, device=x.device)
    for phase in dict.fromkeys(method.phase(update, plan) for update in range(1, plan.n_updates + 1)):
        after, diagnostics = model.update(replica, x, y, index, state, noise(), Step(first, phase))
        yield "update", after
        yield "diagnostics", diagnostics
    if method.sweeps:
        present = torch.ones(schedule.minibatch, dtype=model.dtype, device=x.device)
        state = model.sweep(replica, x, y, index[0], present, state)
        yield "sweep", state
    posterior = model.finish(replica, state)
    yield "finish", posterior
    yield "diagnostics", model.diagnostics(replica, posterior)
    yield "predict", model.predict(replica, posterior, x, noise(), n_samples)


def _on_meta(leaf: Any) -> bool:
    return not isinstance(leaf, Tensor) or leaf.device == META
