"""Checks that a fit depends only on its data, hyper-parameters and seed."""

import random

import numpy as np
import torch

from lockstep_bench.bench.conformance.attributes import first_change
from lockstep_bench.bench.conformance.examined import SEEDS, Examined, Violation, on_every_task, require, same_bits
from lockstep_bench.methods.problem import Task

TOLERANCE = 1e-8  # relative, in float64, between a fit in a stack and the same fit alone


@on_every_task
def stack_equals_alone(examined: Examined, task: Task) -> str:
    """Check that fits trained together under `vmap` predict the same as each fit trained alone, in float64.

    A stack of three is trained. Two of its fits, which differ in rows and seeds, are also trained alone.
    """
    stacked = examined.predictives(examined.stacked_fits(task))
    # The reverse order shows whether a fit leaves anything in the method that the next fit would use.
    for number in (1, 0):
        single = examined.single_fit(task, number)
        worst = max(_difference(*parts) for parts in zip(stacked[number], single, strict=True))
        if worst >= TOLERANCE:
            cause = first_change(examined) or (
                "Check that no operation mixes the fits of a stack, that the method keeps nothing in `self`, and that "
                f"all randomness comes from {examined.source_of_randomness}"
            )
            raise Violation(
                f"fit {number + 1} of {len(SEEDS)} in a stack differs from the same fit alone by {worst:.1e} "
                f"(relative); allowed is {TOLERANCE:.0e}. {cause}"
            )
    return f"equal within {TOLERANCE:.0e} (relative)"


@on_every_task
def is_deterministic(examined: Examined, task: Task) -> str:
    """Check that equal seeds give bitwise equal predictions, and different seeds different ones.

    Equal seeds are those of two fits alone, and different seeds those of two fits of a stack that have the same rows.
    The state of the global random generators must not matter. For a method that declares `deterministic`, different
    seeds must give bitwise equal predictions too.
    """
    first = examined.single_fit(task, 0)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 (results must not depend on the legacy global state)
    random.seed(1)
    before = torch.get_rng_state()
    (second,) = examined.predictives(examined.train(task, (0,), stacked=False))
    unchanged = torch.equal(before, torch.get_rng_state())
    require(unchanged, "the method draws from torch's global generator; draw from `noise` instead")
    source = examined.source_of_randomness
    require(same_bits(first, second), f"one seed gave two results; take all random numbers from {source}")
    first, _, other = examined.predictives(examined.stacked_fits(task))
    if examined.method.deterministic:
        require(
            same_bits(first, other),
            "the method declares `deterministic = True`, and two seeds gave two results; remove the declaration, or "
            "the random numbers",
        )
        return "all seeds give equal bits, as declared"
    require(
        not same_bits(first, other),
        f"two seeds gave one result; take random numbers, such as initial weights and samples, from {source}, or "
        "declare `deterministic = True` if the method draws none",
    )
    return "equal seeds give equal bits, other seeds other bits"


def _difference(values: torch.Tensor, expected: torch.Tensor) -> float:
    return ((values - expected).abs().max() / (1e-12 + expected.abs().max())).item()
