"""Measured times of updates, and how the speed benchmark prints them."""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

if TYPE_CHECKING:
    from lockstep_bench.bench.engine.timing import TimedFit

COLUMNS = ["method", "hidden", "batch_size", "stack"]


class Measured(NamedTuple):
    """Measured microseconds per model-step (one update of one network) of a method, in two settings.

    Attributes:
        method: name of the method.
        fit: the fit whose updates are timed.
        stack: number of networks that are trained together.
        first: microseconds of a network alone, or in the stack if that is compared with another library.
        second: microseconds in the stack, or in the other library.
    """

    method: str
    fit: "TimedFit"
    stack: int
    first: float
    second: float

    @property
    def ratio(self) -> float:
        """Ratio `first` / `second` of the two times."""
        return self.first / self.second

    def cells(self) -> list[str]:
        """Return the entries of this measurement's CSV row that precede the times."""
        return [self.method, hidden_text(self.fit.hidden), str(self.fit.batch_size), str(self.stack)]


def hidden_text(hidden: Sequence[int]) -> str:
    """Return the numbers of hidden units in the form of the option --hidden, such as "50-50"."""
    return "-".join(map(str, hidden))


def progress() -> Progress:
    """Return a progress bar on stderr that disappears when it ends."""
    return Progress(console=Console(stderr=True), transient=True)


def print_csv(headings: list[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows to stdout as CSV, after the headings unless these are empty, and flush them."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if headings:
        writer.writerow(headings)
    writer.writerows(rows)
    sys.stdout.flush()


def print_table(
    title: str, sizes: Sequence[int], rows: Sequence[Measured], cell: Callable[[Measured], str], alone: bool = False
) -> None:
    """Print a line per method and fit, and a column per stack; with `alone` the time of a fit alone before them."""
    table = Table(title=title)
    for heading in ("method", "hidden", "batch"):
        table.add_column(heading)
    for heading in (*(["alone"] if alone else []), *(f"stack of {size}" for size in sizes)):
        table.add_column(heading, justify="right")
    for _, group in groupby(rows, key=lambda row: row.cells()[:3]):
        stacks = list(group)
        table.add_row(*stacks[0].cells()[:3], *([f"{stacks[0].first:.0f}"] if alone else []), *map(cell, stacks))
    Console().print(table)
