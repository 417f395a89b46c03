"""Does an adapter keep the method contract? What `python -m methods check NAME` runs.

Imports `bench.streams` and the rooms below it.

Each check is a function of a method under examination that returns what it found, in words, or raises `Violation`. They
run in seconds, on a tiny task of each kind that the method can be used for.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from bench.conformance import contract, correctness, reproducibility
from bench.conformance.examined import TASKS, Examined, Violation
from methods.base import Method
from methods.problem import Task

RULES: dict[str, Callable[[Examined], str]] = {
    "declares itself": contract.declares_itself,
    "state keeps its shape": contract.state_keeps_its_shape,
    "stack equals alone": reproducibility.stack_equals_alone,
    "deterministic": reproducibility.is_deterministic,
    "keeps to its device": contract.keeps_to_its_device,
    "finite over its search spaces": correctness.survives_its_search_spaces,
    "predictive is a density": correctness.predictive_is_a_density,
    "posterior can be saved": contract.posterior_can_be_saved,
    "conjugate posterior": correctness.finds_the_conjugate_posterior,
    "cost": correctness.cost_is_told,
}


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: its title.
        passed: whether the rule holds.
        detail: what was found.
    """

    check: str
    passed: bool
    detail: str


def check(method: Method, titles: Collection[str] = tuple(RULES), tasks: Sequence[Task] = TASKS) -> Iterator[Finding]:
    """Run the checks of these titles on a method and yield each outcome as it is known.

    An exception inside is a failed check. `tasks` are what it is tried on, as far as it can be used for them.
    """
    examined = Examined(method, tasks)
    for title, rule in RULES.items():
        if title not in titles:
            continue
        try:
            yield Finding(title, True, rule(examined))
        except Violation as violation:
            yield Finding(title, False, str(violation))
        except Exception as error:
            yield Finding(title, False, f"{type(error).__name__}: {error}")
