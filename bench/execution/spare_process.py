"""A worker process that is started in advance, so that it imports torch while the main process plans the run."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from lockstep_bench.bench.execution.supervisor import Died, Supervised

IMPORTED = ("lockstep_bench.bench.execution.run", "lockstep_bench.bench.evaluation.prediction")


class Spare(AbstractContextManager["Spare"]):
    """Holds at most one process that no worker uses yet. The end of a `with` block ends the process if still unused."""

    def __init__(self) -> None:
        self._waiting: tuple[dict[str, str], Supervised] | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Start a process for the first worker that has these environment variables."""
        self.end()
        self._waiting = dict(environment), Supervised(environment, IMPORTED)

    def process_of(self, environment: Mapping[str, str]) -> Supervised:
        """Return a process with these environment variables: the one started in advance, or else a new one."""
        if self._waiting and self._waiting[0] == environment:
            (_, process), self._waiting = self._waiting, None
            if process.alive:
                return process
        return Supervised(environment, IMPORTED)

    def answer(self, question: Callable[..., Any], *arguments: object) -> Any:
        """Return `question(*arguments)` as the waiting process computes it; without one, it is computed here."""
        if self._waiting:
            try:
                return self._waiting[1].call(_called, question, arguments)
            except Died:
                self.end()
        return question(*arguments)

    def end(self) -> None:
        """End the process if no worker uses it."""
        if self._waiting:
            (_, process), self._waiting = self._waiting, None
            process.end()

    def __exit__(self, *problem: object) -> None:
        self.end()


def _called(question: Callable[..., Any], arguments: tuple[object, ...], *, on_progress: Callable[..., None]) -> Any:
    return question(*arguments)
