"""Checks of several methods in parallel processes."""

from collections.abc import Callable, Iterator, Sequence

import joblib

from lockstep_bench import methods
from lockstep_bench.bench import conformance
from lockstep_bench.bench.environment.machine import this_machine
from lockstep_bench.bench.environment.process import settle
from lockstep_bench.bench.experiment.checks import keep_outcome
from lockstep_bench.methods.base import Method


def check_each(
    names: Sequence[str],
    n_jobs: int | None = None,
    on_method: Callable[[str], None] = lambda name: None,
    device: str = "cpu",
) -> Iterator[tuple[str, conformance.Finding]]:
    """Check methods in parallel processes; yield each outcome with the method's name, in the order of the names.

    Methods whose updates use all training rows start first, then those whose fits run one by one: they take longest.

    Args:
        names: names of the methods.
        n_jobs: number of processes, each with one thread; by default the number of cores. With one process, or one
            method, the checks run in this process, and each outcome is yielded when it is known. Otherwise a method's
            outcomes are yielded when it and all methods before it are done.
        on_method: called with the name of each method that is done, in no fixed order.
        device: torch's name of the device that fits are trained on.

    Raises:
        UnknownMethod: see `methods.get`.
        BrokenMethod: see `methods.get`.
    """
    chosen = {name: methods.get(name) for name in names}
    n_jobs = min(n_jobs or this_machine().cores, len(chosen))
    if n_jobs == 1:
        for name, method in chosen.items():
            for finding in _findings(name, method, device):
                yield name, finding
            on_method(name)
        return
    longest_first = sorted(chosen, key=lambda name: (not chosen[name].full_batch, chosen[name].stackable))
    parallel = joblib.Parallel(n_jobs, batch_size=1, pre_dispatch=n_jobs, return_as="generator_unordered")
    findings: dict[str, list[conformance.Finding]] = {}
    waiting = list(chosen)
    for name, of_method in parallel(joblib.delayed(_in_a_process)(name, device) for name in longest_first):
        findings[name] = of_method
        on_method(name)
        while waiting and waiting[0] in findings:
            first = waiting.pop(0)
            for finding in findings.pop(first):
                yield first, finding


def _in_a_process(name: str, device: str) -> tuple[str, list[conformance.Finding]]:
    settle()
    return name, list(_findings(name, methods.get(name), device))


def _findings(name: str, method: Method, device: str) -> Iterator[conformance.Finding]:
    """Yield the findings of a method. Outcomes on the CPU are stored, so that later results can name them."""
    failed = []
    for finding in conformance.check(method, device=device):
        failed += [] if finding.passed else [finding.check]
        yield finding
    if device == "cpu":
        keep_outcome(name, failed)
