"""A worker's process that starts before its work is known: it imports torch while this process plans the run."""

from collections.abc import Mapping

from lockstep_bench.bench.execution.supervisor import Supervised

IMPORTED = ("lockstep_bench.bench.execution.run", "lockstep_bench.bench.evaluation.prediction")

_spare: list[tuple[dict[str, str], Supervised]] = []


def start(environment: Mapping[str, str]) -> None:
    """Start a process for the first worker of that environment."""
    end()
    _spare.append((dict(environment), Supervised(environment, IMPORTED)))


def process_of(environment: Mapping[str, str]) -> Supervised:
    """Return a process of that environment: the one that was started ahead if there is one, or else a new one."""
    if _spare and _spare[0][0] == environment:
        _, process = _spare.pop()
        if process.alive:
            return process
    return Supervised(environment)


def end() -> None:
    """End the process if no worker has taken it."""
    while _spare:
        _spare.pop()[1].end()
