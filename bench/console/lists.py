"""Printed lists of `run_all.py --list`: an index of the suites, and the presets and data sets of one suite."""

import difflib
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from lockstep_bench import datasets, methods
from lockstep_bench.bench.console.display import out
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.experiment.suites import SUITES, Suite
from lockstep_bench.shared.papers.entries import SUITE as PAPERS
from lockstep_bench.shared.papers.entries import Entry, entries

STATES = {
    "missing": "[yellow]Not on this machine; a run fetches them[/]",
    "damaged": "[red]Damaged; `python -m datasets fetch` gets them again[/]",
}
OF_PAPERS = "tables and figures of papers, replicated"


def show(suite: str | None, data_dir: Path | None) -> None:
    """Print the index of suites, or a suite in detail.

    Raises:
        InvalidRequest: There is no such suite.
    """
    if suite is None:
        _index()
    else:
        _suite(suite, data_dir)


def _index() -> None:
    """Print each suite with its title, number of data sets and presets, the default methods, and where details are."""
    out.print("`python run_all.py --list SUITE` shows the presets and data sets of a suite.\n")
    table = _table("suite", "title", "data sets", "presets")
    table.columns[2].justify = "right"
    for suite in SUITES.values():
        names = suite.datasets()
        table.add_row(suite.name, escape(suite.title), str(len(names)), ", ".join(suite.presets))
    table.add_row(PAPERS, OF_PAPERS, "", f"{len(entries())} tables and figures")
    out.print(table)
    out.print(
        f"\n`python -m methods list` shows the {len(methods.names())} methods. By default these run (`headline`):"
    )
    out.print(escape(", ".join(methods.headline())))
    out.print("\nFor example:\n  python run_all.py --suite uci --datasets yacht,boston --methods map,swag")


def _suite(name: str, data_dir: Path | None) -> None:
    """Print presets and data sets of a suite, or the entries of the suite of papers.

    Raises:
        InvalidRequest: There is no such suite.
    """
    if name == PAPERS:
        _show_entries()
    elif name in SUITES:
        _show_presets(SUITES[name])
        _show_datasets(SUITES[name], data_dir)
    else:
        near = difflib.get_close_matches(name, [*SUITES, PAPERS], n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join([*SUITES, PAPERS])}"
        raise InvalidRequest(f"suite '{name}' is unknown; {hint}")


def _show_presets(suite: Suite) -> None:
    table = _table("preset", "splits", "budget of a cell", title=f"Suite {suite.name}: {suite.title}")
    every = "all unflagged" if any(datasets.entry(each).flagged for each in suite.datasets()) else "all"
    for name, preset in suite.presets.items():
        splits = suite.splits[name]
        table.add_row(name, every if splits is None else f"first {splits}", suite.kind.in_words(preset))
    out.print(table)


def _show_datasets(suite: Suite, data_dir: Path | None) -> None:
    names = suite.datasets()
    if not names:
        out.print("\nData sets: none yet; --csv FILE --target COLUMN runs a table of your own")
        return
    table = _table("data set", "title", "rows", "features", "splits")
    for column in table.columns[2:]:
        column.justify = "right"
    elsewhere: dict[str, list[str]] = {}
    for name in names:
        entry = datasets.entry(name)
        splits = f"{entry.n_splits - len(entry.flagged)} of {entry.n_splits}" if entry.flagged else str(entry.n_splits)
        table.add_row(name, escape(entry.title), str(entry.n_rows), str(entry.n_features), splits)
        if (state := datasets.availability(name, data_dir).state) != "ready":
            elsewhere.setdefault(STATES.get(state, "[red]Broken[/]"), []).append(name)
        if (provider := datasets.provider(name)) != "built in":
            elsewhere.setdefault(f"From {escape(provider)}", []).append(name)
    out.print()
    out.print(table)
    if any(datasets.entry(name).flagged for name in names):
        out.print("\nN of M splits: presets leave out the others, which `python -m datasets list --notes` flags.")
    for words, some in elsewhere.items():
        out.print(f"\n{words}: {', '.join(some)}")


def _show_entries() -> None:
    out.print(f"Suite {PAPERS}: {OF_PAPERS}; each is a preset, `--preset all` runs all that can run here")
    by_paper: dict[str, list[Entry]] = {}
    for entry in entries():
        by_paper.setdefault(entry.paper, []).append(entry)
    for paper, some in by_paper.items():
        out.print(f"\n[bold]{escape(paper)}[/]")
        table = _table("preset", "what it shows")
        table.show_header = False
        for entry in some:
            table.add_row(entry.name, escape(f"{entry.table}: {entry.title}{_how(entry)}"))
        out.print(table)


def _how(entry: Entry) -> str:
    """Return how an entry is checked where it does not run by itself, to be printed after its title."""
    if entry.unavailable:
        return " (takes more than two cores)"
    if entry.test:
        return " (a test)"
    return "" if entry.rows == entry.name else f" (runs with {entry.rows})"


def _table(*headings: str, title: str | None = None) -> Table:
    """Return a table whose first column, of names to be typed, is never cut."""
    table = Table(*headings, title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.overflow = "fold"
    return table
