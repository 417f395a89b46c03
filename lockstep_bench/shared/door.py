r"""Base class of all command lines of this project: encoding of their output, and messages about system limits.

Characters that the encoding of standard output lacks are printed as escapes, such as \xb1: a terminal, a pipe or
PYTHONIOENCODING may ask for ASCII. If a command hits a limit of the system, such as the number of open files, a message
says which and what to do.
"""

import atexit
import gc
import inspect
import io
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from lockstep_bench.shared import limits

sys.excepthook = limits.say  # a door imports this module first: what it imports next may hit a limit already

import typer  # noqa: E402

from lockstep_bench.shared.called import as_called  # noqa: E402

Function = TypeVar("Function", bound=Callable[..., Any])


def examples(*commands: str) -> str:
    """Return the last part of a command's help: examples, one a line (lines of help are separated by empty ones)."""
    return "\n\n".join(["For example:", *map(as_called, commands)])


class Door(typer.Typer):
    """A Typer command line with the output and error handling of this module; `options` are those of `typer.Typer`."""

    def __init__(self, **options: Any):
        super().__init__(add_completion=False, pretty_exceptions_enable=False, **options)

    def command(self, *args: Any, **options: Any) -> Callable[[Function], Function]:
        """Return the decorator of a command; its help is the docstring, each paragraph wrapped to the terminal."""

        def decorate(function: Function) -> Function:
            paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
            words = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
            return super(Door, self).command(*args, **{"help": words} | options)(function)

        return decorate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command."""
        atexit.register(gc.freeze)  # or Python looks for cycles at its end, in all that was imported
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().__call__(*args, **kwargs)
        except (OSError, MemoryError, RuntimeError, ImportError) as problem:
            if words := limits.in_words(problem):
                sys.exit(f"Error: {words}")
            raise
