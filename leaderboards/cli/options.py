"""Command-line options that several commands share, and functions that read results folders."""

import enum
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
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


def read_folders(folders: list[Path], cached: bool = True) -> "Leaderboard":
    """Return the results of several folders, and print on standard error which files could not be read.

    Args:
        folders: paths of the results folders.
        cached: False to read every file again instead of using the user's cache of rows.
    """
    for folder in folders:
        require_results(folder)
    from lockstep_bench.leaderboards.data.results import read_results

    results = read_results(*folders, cached=cached)
    skipped: dict[str, list[str]] = {}
    for path, reason in results.skipped:
        skipped.setdefault(reason, []).append(str(path))
    print_notes([visible(f"left out: {', '.join(paths)}: {reason}") for reason, paths in skipped.items()])
    if results.cells.empty:
        empty = " and ".join(f"'{folder}'" for folder in folders)
        stop(f"{empty}: no finished cells yet (no readable .parquet file under cells/); run `python run_all.py` first")
    return results


def notes_on(
    results: "Leaderboard",
    suites: Sequence[str] = (),
    presets: Sequence[str] = (),
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[str]:
    """Return sentences on rows that were left out, and on rows of different code, seeds or devices in one table.

    Args:
        results: results as they were read.
        suites: suites that the sentences are about; all if empty, as for the other names.
        presets: their presets, each a name or name@hash.
        datasets: their data sets.
        methods: their methods.
    """
    from lockstep_bench.leaderboards.data.fingerprints import BOARD
    from lockstep_bench.leaderboards.data.replicated import set_apart
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.wording.mixtures import mixtures

    # The runs of a replication have protocols of their own, which is no mixture.
    others = set_apart(results).others
    labels = with_labelled_presets(others.cells)["preset"]
    chosen = others.cells["preset"].isin(presets) | labels.isin(presets) | (not presets)
    for column, names in {"suite": suites, "dataset": datasets, "method": methods}.items():
        chosen &= others.cells[column].isin(names) | (not names)
    cells = others.cells[chosen]
    boards = set(cells[BOARD].itertuples(index=False, name=None))
    choices = [choice for choice in others.choices if choice[: len(BOARD)] in boards]
    return [visible(mixture.sentence) for mixture in mixtures(cells, choices)]


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error, each once, after all that was printed before; a terminal breaks no word."""
    sys.stdout.flush()
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else sys.maxsize
    for note in dict.fromkeys(notes):
        typer.echo(textwrap.fill(note, width, break_on_hyphens=False), err=True)


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
