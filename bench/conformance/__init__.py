"""Checks that a method keeps the contract of `methods.base`, for `python -m methods check NAME`.

Each check is a function of an `Examined` method. It returns a sentence with details if the method passes, and raises
`Violation` if not. All checks together take seconds. They run on a tiny task of each kind that the method supports.

Imports allowed here: `bench.engine`, `bench.experiment`, `bench.metrics` and `bench.reference`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from lockstep_bench.bench.conformance import (
    attributes,
    conjugate_posterior,
    contract,
    correctness,
    execution,
    reproducibility,
    units,
)
from lockstep_bench.bench.conformance.examined import TASKS, Doubt, Examined, Violation
from lockstep_bench.bench.engine.explanations import SAYS, explained
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.problem import Task

RULES: dict[str, Callable[[Examined], str]] = {
    "declares itself": contract.declares_itself,
    "state keeps its shape": contract.state_keeps_its_shape,
    "keeps nothing in itself": attributes.keeps_nothing_in_itself,
    "stack equals alone": reproducibility.stack_equals_alone,
    "deterministic": reproducibility.is_deterministic,
    "keeps to its device": contract.keeps_to_its_device,
    "finite over its search spaces": correctness.survives_its_search_spaces,
    "predictive is a density": correctness.predictive_is_a_density,
    "keeps the units": units.keeps_the_units_of_its_targets,
    "posterior can be saved": contract.posterior_can_be_saved,
    "few phases": execution.has_few_phases,
    "conjugate posterior": conjugate_posterior.finds_the_conjugate_posterior,
    "trains natively": execution.trains_natively,
    "cost": correctness.measures_cost,
}


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: title of the check, a key of `RULES`.
        passed: whether the method passed the check.
        detail: measured values if it passed, otherwise what is wrong and what to do.
        warned: whether it passed with a warning, which is then the detail.
    """

    check: str
    passed: bool
    detail: str
    warned: bool = False


def check(
    method: Method, titles: Collection[str] = tuple(RULES), tasks: Sequence[Task] = TASKS, device: str = "cpu"
) -> Iterator[Finding]:
    """Run checks on a method and yield each outcome when it is known. An exception in a check counts as a failure.

    A method that excludes all tasks fails the first check, and the other checks are not run.

    Args:
        method: the method to check.
        titles: keys of `RULES`; all by default.
        tasks: the tasks of the checks; those that the method excludes are left out.
        device: torch's name of the device that fits are trained on: "cpu", "cuda", "cuda:1".
    """
    examined = Examined(method, tasks, device)
    failures: dict[str, str] = {}  # reason -> title of the check
    if not examined.tasks:
        titles = tuple(RULES)[:1]
    for title, rule in RULES.items():
        if title not in titles:
            continue
        try:
            yield Finding(title, True, rule(examined))
            continue
        except Doubt as doubt:
            yield Finding(title, True, str(doubt), warned=True)
            continue
        except Violation as violation:
            detail = str(violation)
        except Exception as error:
            detail = explained(error, method)
        earlier = failures.setdefault(detail.partition(SAYS)[0], title)
        yield Finding(title, False, detail if earlier == title else f"for the same reason as '{earlier}'")
