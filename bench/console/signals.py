"""Signals that end a run: from a batch system, from a closed terminal, or by Ctrl and a backslash."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGTERM", "SIGHUP", "SIGQUIT")  # Windows lacks the last two


class Terminated(KeyboardInterrupt):
    """A signal asked the run to end at once, as a second Ctrl-C does.

    Args:
        number: Number of the signal.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.name, self.exit_code = signal.Signals(number).name, 128 + number


@contextmanager
def terminating() -> Iterator[None]:
    """Raise `Terminated` in the main thread at the first SIGTERM, SIGHUP or SIGQUIT.

    A second signal ends the process at once. Ignored signals, such as SIGHUP under `nohup`, stay ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for name in NAMES if (number := getattr(signal, name, None)) is not None]
    handled = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]

    def handler(number: int, frame: FrameType | None) -> None:
        _restore(handled)
        _replace_closed(terminals)
        raise Terminated(number)

    for number in handled:
        signal.signal(number, handler)
    try:
        yield
    finally:
        _restore(handled)


def _restore(numbers: list[signal.Signals]) -> None:
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)


def _replace_closed(terminals: list[int]) -> None:
    """Discard further output if the terminal is closed, because every write to it would raise an error."""
    for descriptor in terminals:
        if not os.isatty(descriptor):
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, descriptor)
            os.close(nothing)
