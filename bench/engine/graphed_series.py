"""Training of small image networks through captured graphs of their updates, one network after the other.

On a GPU, an update of a small convolutional network consists of a few hundred kernels. The CPU takes longer to launch
each of them than the GPU to run it. So every network has CUDA graphs of several updates (`bench.engine.cuda_loop`). Two
graphs must not run at the same time: torch gives those that were recorded on one stream the same workspace for matrix
products, and they would overwrite each other's sums.

On a CPU, the convolutions in the graph of an update are replaced by compiled ones (`bench.engine.native_stages`).

Unlike in `bench.engine.sequential_training`, the random numbers of an update are drawn before it. The same seed
therefore gives other numbers than there.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import deepcopy
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from lockstep_bench.bench.engine.augment import Augment
from lockstep_bench.bench.engine.cuda_loop import GraphedUpdates, plainly, record
from lockstep_bench.bench.engine.cuda_loop import Step as UpdateStep
from lockstep_bench.bench.engine.graph_capture import capture, values_of
from lockstep_bench.bench.engine.minibatches import RowStream, Schedule
from lockstep_bench.bench.engine.native_stages import use_native_stages
from lockstep_bench.bench.engine.native_training import note_obstacle
from lockstep_bench.bench.engine.private_torch import aten, tree_flatten, tree_unflatten
from lockstep_bench.bench.engine.rates import Rate
from lockstep_bench.bench.engine.replica import Replica, ReplicaModel
from lockstep_bench.bench.engine.series import Series
from lockstep_bench.bench.engine.signatures import require_equal
from lockstep_bench.bench.engine.stacked_training import segments
from lockstep_bench.bench.engine.training_record import TrainingRecord, require_scalars
from lockstep_bench.bench.engine.updates import has_graphs
from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.networks.convnets import LeNet
from lockstep_bench.methods.problem import FULL_LR, Step
from lockstep_bench.shared.seeds import seed_of

Updates = Callable[[Tensor, Tensor, Tensor, Sequence[Tensor]], Sequence[Tensor]]

LARGE = 1_000_000  # weights; to capture an update takes the memory of all its operations together
AT_ONCE = 64  # updates that one call makes
MOST_NUMBERS = 1 << 26  # random numbers in memory
ROWS_AHEAD = 512  # updates whose rows are sent to the GPU together: each transfer waits for the network's updates

# Operators that wait for the GPU. A graph cannot hold them, and after an attempt to record one they fail.
WAIT = {aten._linalg_eigh.default}


def pays(model: ReplicaModel, device: torch.device) -> bool:
    """Return whether the networks of a model should be trained through graphs on a device.

    On a GPU, they pay for small networks. On a CPU, they pay for LeNet-5 in single precision, whose convolutions can be
    compiled.
    """
    if has_graphs(device):
        return model.network.dim < LARGE
    single = model.dtype == torch.float32 and model.short is None
    return single and isinstance(model.network, LeNet) and model.network.activation == "relu"


def train_in_graphs(
    series: Series,
    schedule: Schedule,
    record: TrainingRecord,
    augment: Augment | None,
    rate: Rate | None,
    on_update: Callable[[int], None],
) -> Iterator[Any]:
    """Train the networks of a series, and yield the state of each after its last update.

    Args:
        series: B fits.
        schedule: schedule of the updates and their minibatches.
        record: takes diagnostics.
        augment: function that changes the images of every minibatch at random; None to leave them as they are.
        rate: schedule of the learning rate; None for a constant one.
        on_update: called with the number of the updates that were begun, over all networks.

    Raises:
        TypeError: if an update changes the state's structure, shapes or types, or returns diagnostics that are not
            tensors of shape ().
    """
    n_updates = schedule.plan.n_updates
    phases = [series.model.method.phase(update, schedule.plan) for update in range(1, n_updates + 1)]
    updates = {phase: _Update(series, schedule, phase, augment, rate) for phase in dict.fromkeys(phases)}
    at_once = min(AT_ONCE, *(max(1, MOST_NUMBERS // max(1, sum(update.numbers))) for update in updates.values()))
    for done, member in enumerate(series.members):
        network = _Network(series, *member)
        for block in range(0, n_updates, ROWS_AHEAD):
            count = min(ROWS_AHEAD, n_updates - block)
            network.load(updates[phases[block]], range(block + 1, block + count + 1))
            for part in segments(phases, block + 1, count, record.wants, at_once):
                begun = block + part.start + 1
                update = updates[phases[begun - 1]]
                network.draw(update, part)
                if record.wants(begun) and update.has_diagnostics:
                    with record.timed(series.data.x.device):
                        record.add(begun, network.diagnostics(update))
                network.advance(update)
                on_update(done * n_updates + block + part.stop)
        yield network.state()


class _Update:
    """The update of one network in one phase, as a function of tensors.

    Args:
        series: B fits.
        schedule: schedule of the updates and their minibatches.
        phase: value of `Method.phase` for these updates.
        augment: see `train_in_graphs`.
        rate: schedule of the learning rate; None for a constant one.

    Attributes:
        phase: value of `Method.phase` for these updates.
        numbers: how many random numbers the changes of the images and the update draw.
        n_rows: L M, number of rows in the minibatches of an update.
        has_diagnostics: whether the update returns diagnostics.
    """

    def __init__(self, series: Series, schedule: Schedule, phase: Hashable, augment: Augment | None, rate: Rate | None):
        self._model, self._data, self._augment = series.model, series.data, augment
        self._rate, self._plan, self.phase = rate, schedule.plan, phase
        device, replica = series.data.x.device, series.replicas[0]
        shape = series.model.method.batches_per_update, schedule.minibatch
        self.n_rows = math.prod(shape)
        self._places = torch.arange(self.n_rows, device=device).reshape(shape)
        state = series.model.init(replica, series.noise(series.fits[0], 0, "init"))
        leaves, self._structure = tree_flatten(state)
        replica_leaves, self._replica_structure = tree_flatten(replica)

        # One update on trial, of a copy of the state, because a model of another library may change in place.
        images, noise = (NoiseGauge(series.model.dtype, device) for _ in range(2))
        index, (counts,) = self._places.flatten() * 0, self.counts(replica, range(1, 2))
        after, diagnostics = self._applied(replica, index, images, noise, counts, deepcopy(state))
        require_equal(series.model.method.name, state, after)
        require_scalars(f"{series.model.method.name}.update", diagnostics)
        self.numbers, self.has_diagnostics = (images.used, noise.used), bool(diagnostics)
        numbers = torch.zeros(sum(self.numbers), dtype=series.model.dtype, device=device)
        self._examples = [*replica_leaves, index, numbers, counts, *leaves]

    def counts(self, replica: Replica, updates: range) -> Tensor:
        """Return the number of each update and its learning rate (zero if the rate is not scheduled), (U, 2)."""
        dtype, device = self._model.dtype, self._data.x.device
        scheduled = self._rate is not None and "lr" in replica.hparams
        factors = [self._rate(update, self._plan) if self._rate else 0.0 for update in updates]
        lr = replica.hparams["lr"] if scheduled else torch.zeros((), dtype=dtype, device=device)
        numbers = torch.tensor(updates, dtype=dtype, device=device)
        return torch.stack([numbers, lr * torch.tensor(factors, dtype=dtype, device=device)], 1)

    @property
    def step(self) -> Callable[..., Sequence[Tensor]]:
        """The captured update; the update itself if it reads values of tensors and so cannot be captured.

        Its arguments are the leaves of a replica, row numbers (L M,), random numbers, a row of `counts`, and the leaves
        of the state; it returns those of the next state.
        """
        return self._graph.forward if self._graph else self._update

    def several(self, fixed: Sequence[Tensor]) -> Updates:
        """Return a function that makes several updates of one network, whose replica has the leaves `fixed`.

        Its arguments are rows, random numbers and `counts` of each update, and the leaves of the state.
        """
        if not has_graphs(self._data.x.device):
            return partial(_one_by_one, self.step, fixed)
        nodes = self._graph.graph.nodes if self._graph else ()
        waits = any(node.target in WAIT for node in nodes)
        return GraphedUpdates(self.step, fixed, plainly if waits else record)

    @cached_property
    def _graph(self) -> GraphModule | None:
        try:
            graph = capture(self._update, self._examples, 0)
        except RuntimeError:
            return None
        if not has_graphs(self._data.x.device):
            try:
                use_native_stages(graph, values_of(graph, self._examples))
            except NoCompiler as reason:
                note_obstacle(self._model.method.name, str(reason))
        return graph

    def _update(self, *arguments: Tensor) -> list[Tensor]:
        return tree_flatten(self.applied(*arguments)[0])[0]

    def applied(self, *arguments: Tensor) -> tuple[Any, dict[str, Tensor]]:
        """Return the next state and diagnostics; the arguments are those of `step`."""
        n = self._replica_structure.num_leaves
        replica = tree_unflatten(arguments[:n], self._replica_structure)
        index, numbers, counts = arguments[n : n + 3]
        noise = Noise(numbers)  # that of the images first
        state = tree_unflatten(arguments[n + 3 :], self._structure)
        return self._applied(replica, index, noise, noise, counts, state)

    def _applied(
        self, replica: Replica, index: Tensor, images: Noise, noise: Noise, counts: Tensor, state: Any
    ) -> tuple[Any, dict[str, Tensor]]:
        x, y = self._data.x[index], self._data.y[index]
        if self._augment:
            x = self._augment(x, images)
        if self._rate and "lr" in replica.hparams:
            scheduled = {"lr": counts[1], FULL_LR: replica.hparams["lr"]}
            replica = replica._replace(hparams=replica.hparams | scheduled)
        return self._model.update(replica, x, y, self._places, state, noise, Step(counts[0], self.phase))


def _one_by_one(
    step: UpdateStep, fixed: Sequence[Tensor], index: Tensor, noise: Tensor, counts: Tensor, leaves: Sequence[Tensor]
) -> Sequence[Tensor]:
    for update in zip(index, noise, counts, strict=True):
        leaves = step(*fixed, *update, *leaves)
    return leaves


class _Network:
    """One network, its state, random numbers and rows, and the graphs of its updates.

    Args:
        series: B fits.
        number: number of the network's fit.
        member: number of the network in the fit's ensemble.
    """

    def __init__(self, series: Series, number: int, member: int):
        fit, self._replica = series.fits[number], series.replicas[number]
        state = series.model.init(self._replica, series.noise(fit, member, "init"))
        self._leaves: Sequence[Tensor]
        self._leaves, self._structure = tree_flatten(state)
        self._replica_leaves = tree_flatten(self._replica)[0]
        self._rows = RowStream(fit.rows, seed_of(fit.seed, member, "rows"))
        self._noise = [series.noise(fit, member, purpose) for purpose in ("augment", "update")]
        self._made: dict[Hashable, Updates] = {}
        self._loaded: tuple[Tensor, Tensor]
        self._next: tuple[Tensor, Tensor, Tensor]
        self._device = series.data.x.device

    def load(self, update: _Update, updates: range) -> None:
        """Send the rows of some updates to the device, and the numbers and learning rates of these updates."""
        rows = self._rows.take(len(updates) * update.n_rows).reshape(len(updates), -1)
        self._loaded = torch.tensor(rows, device=self._device), update.counts(self._replica, updates)

    def draw(self, update: _Update, part: slice) -> None:
        """Draw the random numbers of the next updates, which are `part` of the loaded ones and have one phase.

        Each update draws by itself, so that its numbers do not depend on which updates are made together.
        """
        index, counts = (loaded[part] for loaded in self._loaded)
        drawn = [
            torch.cat([noise.normal(n) for noise, n in zip(self._noise, update.numbers, strict=True)])
            for _ in range(len(counts))
        ]
        self._next = index, torch.stack(drawn), counts

    def diagnostics(self, update: _Update) -> dict[str, Tensor]:
        """Return the diagnostics of the next update, () each."""
        return update.applied(*self._replica_leaves, *(each[0] for each in self._next), *self._leaves)[1]

    def advance(self, update: _Update) -> None:
        """Make the next updates."""
        if update.phase not in self._made:
            self._made[update.phase] = update.several(self._replica_leaves)
        self._leaves = self._made[update.phase](*self._next, self._leaves)

    def state(self) -> Any:
        """Return the state after the last update."""
        return tree_unflatten(self._leaves, self._structure)
