"""Checks of how fast a method can be trained: number of compiled phases, and compilation to native code."""

import torch

from lockstep_bench.bench.conformance.attributes import first_change
from lockstep_bench.bench.conformance.examined import (
    SEEDS,
    TRAIN_ROWS,
    Doubt,
    Examined,
    Violation,
    middle_of,
    on_every_task,
)
from lockstep_bench.bench.engine.native_training import MIN_UPDATES, noted_obstacles, translated
from lockstep_bench.bench.engine.replica import Fit, ReplicaModel
from lockstep_bench.bench.engine.stack import Stack
from lockstep_bench.bench.engine.stacked_training import MAX_PHASES, initial_state, needs_of_phases, train_stacked
from lockstep_bench.methods.base import FullBatchMethod, Plan
from lockstep_bench.methods.problem import Task

# Relative, between predictions of a fit in a stack and alone. Native states have equal bits. What follows is computed
# by torch in single precision, with other kernels for other stacks.
TOLERANCE = 1e-3
FEW = 8
COUNTED = Plan(n_updates=1000, updates_per_epoch=10)


def has_few_phases(examined: Examined) -> str:
    """Count the different values of `Method.phase`, and warn if there are many, because each is compiled separately."""
    if isinstance(examined.method, FullBatchMethod):
        return "not applicable: the method has no updates"
    phases = {examined.method.phase(update, COUNTED) for update in range(1, COUNTED.n_updates + 1)}
    if len(phases) <= FEW:
        return f"{len(phases)} in {COUNTED.n_updates:,} updates"
    raise Doubt(
        f"`phase` has {len(phases):,} values in {COUNTED.n_updates:,} updates. Each is traced and compiled on its own, "
        f"in up to 3 seconds; with more than {MAX_PHASES} nothing is compiled, and training is many times slower. Let "
        "`phase` return what `update` branches on, and use `step.count` in arithmetic"
    )


@on_every_task
def trains_natively(examined: Examined, task: Task) -> str:
    """Report whether updates can be compiled to native code, and compare natively trained fits.

    On the first task whose updates can be compiled, fits are trained side by side as a run does, and a fit must equal
    the same fit trained alone within `TOLERANCE`. On further tasks, updates are only translated to C++: to compile them
    would take as long as all other checks together.
    """
    method = examined.method
    if not method.stackable:
        return "no: the method declares `stackable = False`, and its fits run one by one"
    if examined.trained_natively and _is_translated(examined, task):
        return "updates can be translated to loops too"
    hparams = middle_of(method.search_space(task))
    fits = [Fit(TRAIN_ROWS, hparams, seed) for seed in SEEDS]
    data, schedule = examined.data_of(task), examined.schedule(MIN_UPDATES)
    with noted_obstacles() as obstacles:
        stack = train_stacked(method, task, data, fits, schedule)
    if stack.execution != "native":
        reason = obstacles.get(method.name, "no reason is known")
        instead = "Captured graphs are replayed" if stack.execution == "captured" else "Updates are made one by one"
        return f"no: {reason}. {instead}, several times slower"
    alone = train_stacked(method, task, data, fits[-1:], schedule)
    pair = examined.predictives(stack)[-1][0], examined.predictives(alone)[0][0]
    difference = ((pair[0] - pair[1]).abs().max() / (1e-12 + pair[1].abs().max())).item()
    if difference >= TOLERANCE:
        cause = first_change(examined) or "Report it as a fault of `bench.native`"
        raise Violation(
            f"a natively trained fit differs from the same fit alone by {difference:.1e} (relative); allowed is "
            f"{TOLERANCE:.0e}. {cause}"
        )
    examined.trained_natively = True
    return "yes: updates are compiled to loops, and a fit equals the same fit alone"


@torch.no_grad()
def _is_translated(examined: Examined, task: Task) -> bool:
    """Return whether C++ code is found for the updates of a task, in every phase and both memory layouts."""
    method, schedule, data = examined.method, examined.schedule(MIN_UPDATES), examined.data_of(task)
    phases = [method.phase(update, schedule.plan) for update in range(1, schedule.plan.n_updates + 1)]
    fits = [Fit(TRAIN_ROWS, middle_of(method.search_space(task)), seed) for seed in SEEDS]
    stack = Stack.of(ReplicaModel(method, task, torch.float32), data, fits, standardise=True, parallel=True)
    state = initial_state(stack)
    needs = needs_of_phases(stack, state, schedule, phases)
    loops = translated(stack, schedule, state, max(need.noise_length for need in needs.values()), list(needs))
    if isinstance(loops, str):
        return False
    return all(bool(of_phase.source(across)) for of_phase in loops.values() for across in (True, False))
