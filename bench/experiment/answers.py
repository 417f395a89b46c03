"""Questions about methods, which another process may answer that has imported torch.

An answer needs the code of methods, and so torch. A run starts its first worker process in advance, which imports torch
anyway and can answer as long as it has no job. The main process then imports no torch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Answer = TypeVar("Answer")

# Calls a function with arguments, here or elsewhere, and returns what it returns; all can be pickled.
Ask = Callable[..., Any]


def _here(question: Callable[..., Answer], *arguments: object) -> Answer:
    return question(*arguments)


_ASK: ContextVar[Ask] = ContextVar("ask", default=_here)


@contextmanager
def answered_by(ask: Ask) -> Iterator[None]:
    """Let `ask` answer the questions in the `with` block."""
    token = _ASK.set(ask)
    try:
        yield
    finally:
        _ASK.reset(token)


def answer(question: Callable[..., Answer], *arguments: object) -> Answer:
    """Return `question(*arguments)`, for a function of a module; it is called here unless `answered_by` is in force."""
    result: Answer = _ASK.get()(question, *arguments)
    return result
