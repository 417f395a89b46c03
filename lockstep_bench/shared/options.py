"""Values of options of command lines."""

from pathlib import Path

import typer


def number(value: float) -> float:
    """Return a number that lies in an option's range; exit at nan, which the range lets pass."""
    if value != value:
        raise typer.BadParameter("nan is not a number")
    return value


def folder(text: str | Path) -> Path:
    """Return the path of a folder; exit at an empty text, which as a path is the current folder."""
    if not str(text):
        raise typer.BadParameter("an empty text is no folder; write . for the current one")
    return Path(text)
