"""Questions about methods, which another process may answer that has imported torch.

An answer needs the code of methods, and so torch. A run starts its first worker process in advance, which imports torch
anyway and can answer as long as it has no job. The main process then imports no torch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Answer = TypeVar("Answer")

# Calls a function with arguments, here or elsewhere, and returns what it returns; all can be pickled.
Ask = Callable[..., Any]

_asked: list[Ask] = []


@contextmanager
def answered_by(ask: Ask) -> Iterator[None]:
    """Let `ask` answer the questions in the `with` block."""
    _asked.append(ask)
    try:
        yield
    finally:
        _asked.remove(ask)


def answer(question: Callable[..., Answer], *arguments: object) -> Answer:
    """Return `question(*arguments)`, for a function of a module; it is called here unless `answered_by` is in force."""
    if not _asked:
        return question(*arguments)
    result: Answer = _asked[-1](question, *arguments)
    return result
