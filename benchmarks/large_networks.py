"""Cost of a method on a large network, relative to plain SGD of that network: time per minibatch, and memory.

The images are noise, 32 x 32 pixels of three channels and ten classes. Hyper-parameters are the middle of their ranges.
An update of every phase of training (`Method.phase`) is timed between two minibatches of plain SGD, so that other load
on the machine slows both. The times of phases are weighted by their share of a training of 10 epochs on 50,000 images.
Noise and the standardisation of images are part of an update; drawing a minibatch and augmenting it are not.
"""

import time
from collections import Counter
from functools import partial
from math import prod
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch

from lockstep_bench.bench.engine import plain_sgd
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_leaves, tree_map
from lockstep_bench.bench.engine.replica import Data, Fit, ReplicaModel, replicas_of
from lockstep_bench.bench.engine.vectorise import replica_of
from lockstep_bench.bench.environment.memory import peak_during
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.bench.experiment.tasks import image_network
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.methods.problem import Step, Task
from lockstep_bench.methods.training.optim import OPTIMISERS

IMAGE, N_CLASSES = (3, 32, 32), 10
N_IMAGES, EPOCHS = 50_000, 10
DTYPE = torch.float32
REPEATS = 5


class UpdateCost(NamedTuple):
    """Time and memory cost of a method on a network of D weights.

    Attributes:
        method: name of the method.
        ratio: seconds per minibatch, of all members of an ensemble, divided by those of plain SGD.
        state: memory between updates without the optimiser's averages, in vectors of D weights.
        optimiser: memory of the optimiser's averages, in vectors of D weights.
        update: further memory at the peak of an update, activations included, in vectors of D weights.
    """

    method: str
    ratio: float
    state: float
    optimiser: float
    update: float


class Size:
    """Setting in which costs are measured: a large network, images for it, and plain SGD as the baseline.

    Args:
        network: one of `protocol.NETWORKS`.
        batch_size: M, images per minibatch.
        device: torch device.

    Attributes:
        task: classification of the images by the network.
        sgd: cost of plain SGD.
    """

    def __init__(self, network: str, batch_size: int, device: torch.device):
        self.task = Task("noise", Categorical(N_CLASSES), image_network(network, IMAGE, N_CLASSES))
        self._batch_size, self._device = batch_size, device
        pixels = np.random.default_rng(0).integers(0, 256, (batch_size, prod(IMAGE)), dtype=np.uint8)
        self._data = Data.of(pixels, np.arange(float(batch_size)) % N_CLASSES, device)
        self._sgd = plain_sgd.minibatches(self.task.network, self.task.likelihood, self._data, batch_size)
        next(self._sgd)  # sets up
        _, peak = peak_during(lambda: next(self._sgd), device)
        self.sgd = UpdateCost("plain SGD", 1.0, 1.0, 1.0, self._vectors(peak))
        self._sgd_seconds: list[float] = []

    @property
    def sgd_seconds(self) -> float:
        """Median seconds of all timed minibatches of plain SGD."""
        return median(self._sgd_seconds)

    def cost(self, method: Method) -> UpdateCost:
        """Return the measured cost of a method, which must have been adapted to the task (`Method.suited_to`)."""
        plan = Schedule(N_IMAGES, self._batch_size, EPOCHS, method.batches_per_update).plan
        phases = Counter(method.phase(update, plan) for update in range(1, plan.n_updates + 1))
        training = _Training(method, self.task, self._data)
        ratio, peak = 0.0, 0
        for phase, count in phases.items():
            # The first update of a phase is slower, because it sets up, but needs no other memory.
            training.state, phase_peak = peak_during(partial(training.after, phase), self._device)
            ratio += count / plan.n_updates * self._ratio(training, phase) / method.batches_per_update
            peak = max(peak, phase_peak)
        state, optimiser = held(training.state)
        vectors = (self._vectors(size) for size in (state, optimiser, peak))
        return UpdateCost(method.name, ratio * method.members, *vectors)

    def _ratio(self, training: "_Training", phase: Any) -> float:
        """Return the time of an update over that of the SGD minibatches before and after it, median of `REPEATS`."""
        ratios, before = [], next(self._sgd)
        for _ in range(REPEATS):
            plain_sgd.finish(self._device)
            started = time.perf_counter()
            training.state = training.after(phase)
            plain_sgd.finish(self._device)
            seconds = time.perf_counter() - started
            after = next(self._sgd)
            ratios.append(2 * seconds / (before + after))
            self._sgd_seconds.append(after)
            before = after
        return median(ratios)

    def _vectors(self, size: int) -> float:
        """Return a size in bytes as a number of vectors of D weights."""
        return size / (self.task.network.dim * DTYPE.itemsize)


class _Training:
    """A fit of a method, one update at a time.

    Attributes:
        state: the method's state; the caller replaces it by what `after` returns.
    """

    def __init__(self, method: Method, task: Task, data: Data):
        fit = Fit(np.arange(len(data.y)), Centred(method.image_space(task)).best().hparams, 0)
        replica = replicas_of([fit], data, DTYPE, standardise_x=True, standardise_y=False, channels=IMAGE[0])
        self._model, self._data = ReplicaModel(method, task, DTYPE), data
        self._replica = tree_map(replica_of, replica)
        self._noise = LiveNoise(torch.Generator(device=data.x.device).manual_seed(0), DTYPE)
        self._index = torch.arange(len(data.y), device=data.x.device).expand(method.batches_per_update, -1)
        self._count = 0
        with torch.no_grad():
            self.state = self._model.init(self._replica, self._noise)

    @torch.no_grad()
    def after(self, phase: Any) -> Any:
        """Return the state after one more update in the given phase of training."""
        self._count += 1
        step = Step(torch.tensor(float(self._count), dtype=DTYPE, device=self._data.x.device), phase)
        arguments = self._data.x, self._data.y, self._index, self.state, self._noise, step
        state, _ = self._model.update(self._replica, *arguments)
        return state


def held(state: Any) -> tuple[int, int]:
    """Return the bytes of a state's tensors: first of those outside the optimiser's averages, then of the averages."""

    def size(nodes: list[Any]) -> int:
        return sum(leaf.nbytes for leaf in tree_leaves(nodes))

    nodes = tree_leaves(state, is_leaf=lambda node: isinstance(node, OPTIMISERS))
    optimisers = [node for node in nodes if isinstance(node, OPTIMISERS)]
    return size(nodes) - size(optimisers), size(optimisers)
