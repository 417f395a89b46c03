"""Command-line options that several commands share, and functions that read results folders."""

import enum
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from lockstep_bench.shared.called import as_called
from lockstep_bench.shared.texts import visible, with_short_words

if TYPE_CHECKING:
    import pandas as pd

    from lockstep_bench.leaderboards.data.results import Leaderboard

Folders = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS...", help="Results folders that `run_all.py --out` wrote; several are merged."),
]


def only(option: str, what: str) -> typer.models.OptionInfo:
    """Return a command-line option that takes comma-separated names and restricts a command to them.

    Args:
        option: name of the option, such as "--methods".
        what: kind of the names, for the help text, such as "methods".
    """
    names: typer.models.OptionInfo = typer.Option(option, metavar="A,B", help=f"Only these {what}.", show_default=False)
    return names


class TableFormat(enum.StrEnum):
    """Formats in which `rank`, `replications` and `compare` print their tables."""

    TEXT = "text"
    CSV = "csv"


def read_folders(
    folders: list[Path], cached: bool = True, suites: Collection[str] = (), presets: Collection[str] = ()
) -> "Leaderboard":
    """Return the results of several folders, and print on standard error which files and rows were skipped.

    Args:
        folders: paths of the results folders.
        cached: False to read every file again instead of using the user's cache of rows.
        suites: suites for which a warning is printed where rows of different code, seeds or devices are averaged
            together; all suites if empty.
        presets: presets for which that warning is printed; all presets if empty.
    """
    for folder in folders:
        require_results(folder)
    from lockstep_bench.leaderboards.data.replicated import set_apart
    from lockstep_bench.leaderboards.data.results import read_results
    from lockstep_bench.leaderboards.wording.mixtures import mixtures

    results = read_results(*folders, cached=cached)
    for path, reason in results.skipped:
        typer.echo(visible(f"left out: {path}: {reason}"), err=True)
    if results.cells.empty:
        empty = " and ".join(f"'{folder}'" for folder in folders)
        stop(f"{empty}: no finished cells yet (no readable .parquet file under cells/); run `python run_all.py` first")
    # The runs of a replication have protocols of their own, which is no mixture.
    others = set_apart(results).others

    def asked(suite: str, preset: str) -> bool:
        return (not suites or suite in suites) and (not presets or preset in {name.split("@")[0] for name in presets})

    shown = [asked(*row) for row in zip(others.cells["suite"], others.cells["preset"], strict=True)]
    choices = [choice for choice in results.choices if asked(choice.suite, choice.preset)]
    for mixture in mixtures(others.cells.loc[shown], choices):
        typer.echo(visible(mixture.sentence), err=True)
    return results


def names_in(text: str) -> list[str]:
    """Return the names in a comma-separated text; commas inside brackets, as in "mfvi(a=1,b=2)", are kept."""
    return [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]


def require_results(folder: Path) -> None:
    """Exit with code 2 and a message unless the folder is a results folder."""
    try:
        str(folder).encode()
        if not folder.exists():
            stop(f"the results folder '{folder}' does not exist; `python run_all.py --out {folder}` creates one")
        if not folder.is_dir():
            stop(f"'{folder}' is a file; give the results folder that holds cells/")
        if not (folder / "cells").is_dir() and not (folder / "unavailable.json").exists():
            stop(
                f"'{folder}' is not a results folder: it holds neither cells/ with .parquet files nor unavailable.json"
            )
    except UnicodeEncodeError:
        stop(f"the path of the results folder '{folder}' is not UTF-8; rename it, or give a link to it")
    except OSError as error:
        stop(f"the results folder '{folder}' cannot be read: {error.strerror or error}; give another one")


def stop(sentence: str) -> NoReturn:
    """Print a sentence on standard error and exit with code 2; very long values in it are shortened."""
    typer.echo(visible(with_short_words(as_called(sentence))), err=True)
    raise typer.Exit(2)


@contextmanager
def stopping_on(*kinds: type[Exception]) -> Iterator[None]:
    """Stop with an error's own words if the body raises one of `kinds`."""
    try:
        yield
    except kinds as error:
        stop(str(error))


def one_label(cells: "pd.DataFrame", preset: str) -> str:
    """Return the label of the preset that `cells` are of; stop if it was run under several protocols."""
    labels = sorted(set(cells["preset"]))
    if len(labels) > 1:
        stop(f"preset '{preset}' was run under several protocols; give one of {', '.join(labels)}")
    return str(labels[0])
