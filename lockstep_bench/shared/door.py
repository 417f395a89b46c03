r"""The doors: commands that a person starts, and what holds for all of them.

Characters that the encoding of standard output lacks are printed as escapes, such as \xb1: a terminal, a pipe or
PYTHONIOENCODING may ask for ASCII. A limit of the system that a command hits is said in words.
"""

import io
import sys
from typing import Any

from lockstep_bench.shared import limits

sys.excepthook = limits.say  # a door imports this module first: what it imports next may hit a limit already

import typer  # noqa: E402


class Door(typer.Typer):
    """A command line; `options` are those of `typer.Typer`."""

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
