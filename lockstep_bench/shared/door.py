r"""Base class of all command lines of this project: encoding of their output, and messages about system limits.

Characters that the encoding of standard output lacks are printed as escapes, such as \xb1: a terminal, a pipe or
PYTHONIOENCODING may ask for ASCII. If a command hits a limit of the system, such as the number of open files, a message
says which and what to do.
"""

import io
import sys
from typing import Any

from lockstep_bench.shared import limits

sys.excepthook = limits.say  # a door imports this module first: what it imports next may hit a limit already

import typer  # noqa: E402


class Door(typer.Typer):
    """A Typer command line with the output and error handling of this module; `options` are those of `typer.Typer`."""

    def __init__(self, **options: Any):
        super().__init__(add_completion=False, pretty_exceptions_enable=False, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().__call__(*args, **kwargs)
        except (OSError, MemoryError, RuntimeError, ImportError) as problem:
            if words := limits.in_words(problem):
                sys.exit(f"Error: {words}")
            raise
