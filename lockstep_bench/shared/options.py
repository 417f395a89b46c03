"""Checks of the values of command-line options."""

from pathlib import Path

import typer


def number(value: float) -> float:
    """Return the number that was given as an option's value; exit with an error for nan, which Typer's ranges allow."""
    if value != value:
        raise typer.BadParameter("nan is not a number")
    return value


def folder(text: str | Path) -> Path:
    """Return the path of a folder; exit with an error for an empty text, which would mean the current folder."""
    if not str(text):
        raise typer.BadParameter("the folder has no name; write . for the current folder")
    return Path(text)
