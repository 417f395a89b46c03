"""Check of how a run trains a method."""

from bench.conformance.examined import SEEDS, TRAIN_ROWS, Examined, data_of, middle_of, on_every_task
from bench.engine.native_training import MIN_UPDATES, UNAVAILABLE
from bench.engine.replica import Fit
from bench.engine.stacked_training import train_stacked
from methods.problem import Task


@on_every_task
def trains_natively(examined: Examined, task: Task) -> str:
    """Train a stack as a run does, and say in which way, and why not natively. No way is a failure."""
    method = examined.method
    if not method.stackable:
        return "no: the method wraps another library, and its networks are trained one at a time"
    hparams = middle_of(method.search_space(task))
    fits = [Fit(TRAIN_ROWS, hparams, seed) for seed in SEEDS]
    UNAVAILABLE.pop(method.name, None)
    trained = train_stacked(method, task, data_of(task), fits, examined.schedule(MIN_UPDATES))
    if trained.execution == "native":
        return "yes: updates are compiled to loops"
    reason = UNAVAILABLE.get(method.name, "no reason is known")
    return f"no: {reason}. Captured graphs of its updates are replayed, several times slower"
