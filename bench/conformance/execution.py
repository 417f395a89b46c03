"""Check of how a run trains a method."""

from bench.conformance.examined import SEEDS, TRAIN_ROWS, Examined, data_of, middle_of, on_every_task, require
from bench.engine.native_training import MIN_UPDATES, UNAVAILABLE
from bench.engine.replica import Fit
from bench.engine.stacked_training import train_stacked
from methods.problem import Task

# Relative, between predictions of a fit in a stack and alone. Native states have equal bits. What follows is computed
# by torch in single precision, with other kernels for other stacks.
TOLERANCE = 1e-3


@on_every_task
def trains_natively(examined: Examined, task: Task) -> str:
    """Train a stack as a run does, and say in which way. A native fit must equal the same fit alone."""
    method = examined.method
    if not method.stackable:
        return "no: the method wraps another library, and its networks are trained one at a time"
    hparams = middle_of(method.search_space(task))
    fits = [Fit(TRAIN_ROWS, hparams, seed) for seed in SEEDS]
    UNAVAILABLE.pop(method.name, None)
    data, schedule = data_of(task), examined.schedule(MIN_UPDATES)
    stack = train_stacked(method, task, data, fits, schedule)
    if stack.execution != "native":
        reason = UNAVAILABLE.get(method.name, "no reason is known")
        return f"no: {reason}. Captured graphs of its updates are replayed, several times slower"
    alone = train_stacked(method, task, data, fits[-1:], schedule)
    pair = examined.predictives(stack)[-1][0], examined.predictives(alone)[0][0]
    difference = ((pair[0] - pair[1]).abs().max() / (1e-12 + pair[1].abs().max())).item()
    require(
        difference < TOLERANCE,
        f"a natively trained fit differs from the same fit alone by {difference:.1e} (relative); allowed is "
        f"{TOLERANCE:.0e}. Report it as a fault of `bench.native`",
    )
    return "yes: updates are compiled to loops, and a fit equals the same fit alone"
