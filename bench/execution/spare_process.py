"""A worker's process that starts before its work is known: it imports torch while this process plans the run."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from lockstep_bench.bench.execution.supervisor import Supervised

IMPORTED = ("lockstep_bench.bench.execution.run", "lockstep_bench.bench.evaluation.prediction")


class Spare(AbstractContextManager["Spare"]):
    """At most one process that waits for a worker. As a context, it ends the process that no worker has taken."""

    def __init__(self) -> None:
        self._waiting: tuple[dict[str, str], Supervised] | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Start a process for the first worker of that environment."""
        self.end()
        self._waiting = dict(environment), Supervised(environment, IMPORTED)

    def process_of(self, environment: Mapping[str, str]) -> Supervised:
        """Return a process of that environment: the one that was started ahead if there is one, or else a new one."""
        if self._waiting and self._waiting[0] == environment:
            (_, process), self._waiting = self._waiting, None
            if process.alive:
                return process
        return Supervised(environment)

    def end(self) -> None:
        """End the process if no worker has taken it."""
        if self._waiting:
            (_, process), self._waiting = self._waiting, None
            process.end()

    def __exit__(self, *problem: object) -> None:
        self.end()
