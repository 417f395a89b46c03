"""Training of a stack: R networks (replicas) are trained together, each update for all at once."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import torch

from lockstep_bench.bench.engine.diagnostics import RecordedUpdates
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.native_training import NativeTraining, native_training, note_obstacle
from lockstep_bench.bench.engine.private_torch import tree_flatten, tree_map
from lockstep_bench.bench.engine.replica import Data, Fit, ReplicaModel
from lockstep_bench.bench.engine.stack import Stack
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_sweep import sweep
from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.bench.engine.updates import ReplayedTraining, Update, UpdateNeeds, needs_of
from lockstep_bench.bench.engine.vectorise import PerReplica, replica_of
from lockstep_bench.methods.base import FullBatchMethod, Method
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Task
from lockstep_bench.shared.seeds import seed_of

# Each phase has its own loop or graph, which takes 0.05 to 3 seconds to make.
MAX_PHASES = 32
Execution = Literal["native", "captured", "eager"]


@torch.no_grad()
def train_stacked(
    method: Method,
    task: Task,
    data: Data,
    fits: Sequence[Fit],
    schedule: Schedule,
    *,
    standardise: bool = True,
    execution: Execution = "native",
    dtype: torch.dtype = torch.float32,
    stacked: bool = True,
    n_recorded: int = 0,
    in_pairs: bool = False,
    on_update: Callable[[int], None] = lambda update: None,
) -> StackedFits:
    """Train fits of one method on one task together, and return the trained fits.

    Args:
        method: method of all fits.
        task: task of all fits.
        data: data of all fits.
        fits: B fits; they become R = B x `method.members` networks (replicas).
        schedule: schedule of all fits.
        standardise: False leaves x and y in original units.
        execution: "native" compiles the loop over updates (`bench.native`). "captured" captures the graph of an update
            once and replays it (`bench.engine.graph_capture`). It replaces "native" where compilation is impossible or
            would not pay. "eager" does neither; it replaces both if `Method.phase` has more than 32 values.
        dtype: type of weights and arithmetic.
        stacked: False trains one replica after the other, eagerly and without `vmap`.
        n_recorded: largest number of evenly spaced updates at which diagnostics are recorded. Other updates skip their
            computation, except in eager mode. Recording does not change the training.
        in_pairs: whether diagnostics are also recorded at pairs of updates, to judge convergence (`TrainingRecord`).
        on_update: called now and then with the number of the last finished update; one call may report hundreds.

    Raises:
        TypeError: if an update changes the state's structure, shapes or types, or returns diagnostics that are not
            tensors of shape ().
    """
    full_batch = isinstance(method, FullBatchMethod)
    parallel = stacked and not full_batch
    stack = Stack.of(ReplicaModel(method, task, dtype), data, fits, standardise=standardise, parallel=parallel)
    record = TrainingRecord(schedule.plan.n_updates, n_recorded, in_pairs)
    if full_batch:
        posteriors = _fitted(stack)
        on_update(schedule.plan.n_updates)
        return StackedFits(tuple(fits), schedule, stack, posteriors, record, "sequential")
    state, way = _trained(stack, schedule, execution if stacked else "eager", record, on_update)
    if method.sweeps:
        state = sweep(stack, state)
    posterior = stack.vectorise(stack.model.finish)(stack.replicas, state)
    n_replicas = len(fits) * method.members
    posterior = tree_map(itemgetter(slice(n_replicas)), posterior)
    made = way if stacked else "sequential"
    return StackedFits(tuple(fits), schedule, stack.first(n_replicas), posterior, record, made)


def _fitted(stack: Stack) -> PerReplica:
    """Return the posteriors of a method that gets all training rows in one call."""
    model, data = stack.model, stack.data
    posteriors = []
    for number, (fit, member) in enumerate(stack.members):
        replica = tree_map(partial(replica_of, number=number), stack.replicas)
        rows = stack.index(fit.rows)
        posteriors.append(model.fit(replica, data.x[rows], data.y[rows], seed_of(fit.seed, member, "fit")))
    return PerReplica(posteriors)


def _trained(
    stack: Stack, schedule: Schedule, execution: Execution, record: TrainingRecord, on_update: Callable[[int], None]
) -> tuple[Any, Execution]:
    """Return the state after the last update, and the way in which updates were made."""
    model, plan = stack.model, schedule.plan
    state = initial_state(stack)
    structure = tree_flatten(state)[1]
    phases = [model.method.phase(update, plan) for update in range(1, plan.n_updates + 1)]
    needs = needs_of_phases(stack, state, schedule, phases)
    updates = {phase: Update(stack, phase, structure) for phase in needs}
    noise = stack.noise("update", max(need.noise_length for need in needs.values()))
    training: ReplayedTraining | NativeTraining | None = None
    if len(needs) > MAX_PHASES:
        reason = f"`phase` has {len(needs):,} values, and more than {MAX_PHASES} are not compiled"
        note_obstacle(model.method.name, reason)
        execution = "eager"
    if execution == "native":
        training = native_training(stack, schedule, state, noise, list(needs))
        execution = "native" if training else "captured"
    training = training or ReplayedTraining(stack, state, noise, updates, execution == "captured")
    recorded = RecordedUpdates(updates, record, stack.parallel)
    device = stack.data.x.device

    done = 0
    for rows in stack.minibatches(schedule):
        for part in segments(phases, done + 1, len(rows), record.wants, training.at_once):
            first = done + part.start + 1
            phase = phases[first - 1]
            if record.wants(first) and needs[phase].has_diagnostics:
                # Always eagerly: to capture a graph with diagnostics takes longer than a few dozen eager updates.
                with record.timed(device):
                    count = torch.tensor(float(first), dtype=model.dtype, device=device)
                    index, numbers = record.inputs(
                        first,
                        lambda: (stack.index(rows[part.start]), training.next_noise().clone()),  # noqa: B023
                    )
                    inputs = [index, numbers, count, *tree_flatten(training.state())[0]]
                recorded.keep(first, phase, inputs)
                if recorded.full:
                    recorded.finish()
            training.advance(phase, rows[part], first)
            on_update(done + part.stop)
        done += len(rows)
    recorded.finish()
    return training.state(), execution


def needs_of_phases(
    stack: Stack, state: Any, schedule: Schedule, phases: Iterable[Hashable]
) -> dict[Hashable, UpdateNeeds]:
    """Return what an update of each phase draws and reports; arguments as of `needs_of`."""
    index = stack.index(np.zeros((stack.model.method.batches_per_update, schedule.minibatch), dtype=np.int64))
    return {phase: needs_of(stack, state, index, phase) for phase in dict.fromkeys(phases)}


def initial_state(stack: Stack) -> Any:
    """Return the state of all replicas before the first update; every tensor has a leading axis of R."""
    first_replica = tree_map(replica_of, stack.replicas)
    length = stack.noise_length(lambda noise: stack.model.init(first_replica, noise))
    init = stack.vectorise(lambda replica, numbers: stack.model.init(replica, Noise(numbers)))
    return init(stack.replicas, next(stack.noise("init", length)))


def segments(
    phases: Sequence[Hashable], first: int, count: int, wants: Callable[[int], bool], at_once: int
) -> Iterator[slice]:
    """Divide updates into stretches that one call can make, and yield these as slices.

    A slice counts from update number `first`. The updates of a stretch have the same phase, and a stretch ends before
    an update whose diagnostics are recorded.

    Args:
        phases: phases of all updates, from update number 1.
        first: number of the first update to divide.
        count: number of updates to divide.
        wants: returns whether diagnostics of an update are recorded.
        at_once: largest number of updates in a stretch.
    """
    start = 0
    for place in range(1, count + 1):
        number = first + place
        full = place == count or place - start == at_once
        if full or phases[number - 1] != phases[number - 2] or wants(number):
            yield slice(start, place)
            start = place
