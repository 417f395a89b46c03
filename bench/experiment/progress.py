"""How far a job is, told now and then."""

import time
from collections.abc import Callable
from typing import NamedTuple

TELL_SECONDS = 1.0


class Told(NamedTuple):
    """What a job says of itself.

    Attributes:
        done: the fraction of its stacks, each counted alike, that is trained.
        aside: what it does that is no training, as "sampling the reference"; "" while it trains.
        aside_done: the fraction of that which is done.
    """

    done: float
    aside: str = ""
    aside_done: float = 0.0


Tell = Callable[[Told], None]


class Progress:
    """Tells at most once a second how far a job of `n_stacks` is."""

    def __init__(self, n_stacks: int, tell: Tell):
        self._n_stacks, self._tell = n_stacks, tell
        self._begun, self._told, self._done = 0, time.monotonic(), 0.0

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """What the next stack is to call after each of its updates."""
        before = self._begun
        self._begun += 1

        def watch(update: int) -> None:
            self._done = (before + update / n_updates) / self._n_stacks
            self._tell_if_due(Told(self._done))

        return watch

    def aside(self, what: str) -> Callable[[float], None]:
        """What something that is no training is to call with the fraction of it that is done."""
        return lambda fraction: self._tell_if_due(Told(self._done, what, fraction))

    def _tell_if_due(self, told: Told) -> None:
        now = time.monotonic()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            self._tell(told)
