"""How far a job is, told now and then."""

import time
from collections.abc import Callable

TELL_SECONDS = 1.0


class Progress:
    """Tells at most once a second what part of a cell's stacks, each counted alike, is trained."""

    def __init__(self, n_stacks: int, tell: Callable[[float], None]):
        self._n_stacks, self._tell = n_stacks, tell
        self._begun, self._told = 0, time.monotonic()

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """What the next stack is to call after each of its updates."""
        before = self._begun
        self._begun += 1

        def watch(update: int) -> None:
            now = time.monotonic()
            if now - self._told >= TELL_SECONDS:
                self._told = now
                self._tell((before + update / n_updates) / self._n_stacks)

        return watch
