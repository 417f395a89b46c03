"""Does a fit depend on nothing but its data, hyper-parameters and seed?"""

import random

import numpy as np
import torch

from bench.conformance.examined import SEEDS, Examined, on_every_task, require
from methods.problem import Task

TOLERANCE = 1e-8  # relative, in float64, between a fit in a stack and the same fit alone


@on_every_task
def stack_equals_alone(examined: Examined, task: Task) -> str:
    """Three fits side by side give what each gives alone, without vmap, from the same seed; float64."""
    together = examined.predictives(examined.together(task))
    # In another order, so that what a fit leaves behind in the method meets another fit.
    for number in reversed(range(len(SEEDS))):
        alone = examined.alone(task, number)
        worst = max(_difference(ours, its) for ours, its in zip(together[number], alone, strict=True))
        require(
            worst < TOLERANCE,
            f"fit {number + 1} of {len(SEEDS)} in a stack differs from the same fit alone by {worst:.1e} (relative); "
            f"allowed {TOLERANCE:.0e}. Does an operation mix the rows, does the method keep something in `self`, or "
            "does randomness come from elsewhere than `noise`?",
        )
    return "the same"


@on_every_task
def is_deterministic(examined: Examined, task: Task) -> str:
    """The same seed gives the same bits whatever the global generators hold; another seed gives others."""
    found = []
    for state in (1, 2):
        torch.manual_seed(state)
        np.random.seed(state)  # noqa: NPY002 (it is the legacy global state that must not matter)
        random.seed(state)
        before = torch.get_rng_state()
        (one,) = examined.predictives(examined.stack(task, (0,), stacked=False))
        require(torch.equal(before, torch.get_rng_state()), "it draws from torch's global generator; draw from `noise`")
        found.append(one)
    equal = all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    require(equal, "the same seed gave two results; all randomness must come from `noise`")
    (other,) = examined.predictives(examined.stack(task, (0,), seeds=SEEDS[1:], stacked=False))
    require(not torch.equal(found[0][0], other[0]), "two seeds gave the same result; `noise` seems unused")
    return "the same seed gives the same bits, another seed others"


def _difference(one: torch.Tensor, other: torch.Tensor) -> float:
    return ((one - other).abs().max() / (1e-12 + other.abs().max())).item()
