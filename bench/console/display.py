"""What a person sees while `run_all.py` works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import datasets
import methods
from bench.experiment.cells import Cell
from bench.experiment.plan import Missing
from bench.experiment.protocol import Protocol
from bench.experiment.suites import SUITES
from bench.schema import STATUSES

if TYPE_CHECKING:
    from bench.execution.workers import Worker

STATES = {"ready": "[green]ready[/]", "missing": "[yellow]not here[/]", "damaged": "[red]damaged[/]"}

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A plain line."""
    out.print(escape(text))


def warn(text: str) -> None:
    """A line about something that may be wrong, while the run goes on."""
    err.print(f"[yellow]Note:[/] {escape(text)}", soft_wrap=True)


def show_refusal(text: str) -> None:
    """Why nothing was done."""
    err.print(f"[red]Refused:[/] {escape(text)}", soft_wrap=True)


def show_lists(data_dir: Path | None) -> None:
    """Suites with their presets, data sets, methods."""
    for suite in SUITES.values():
        table = Table(title=f"Suite {suite.name}: {suite.title}", title_justify="left", box=None)
        for heading in ("preset", "splits", "budget of a cell"):
            table.add_column(heading)
        for name, preset in suite.presets.items():
            splits = suite.splits[name]
            table.add_row(name, "all" if splits is None else f"first {splits}", suite.kind.in_words(preset))
        out.print(table)
        table = Table(title="Data sets", title_justify="left", box=None)
        for heading in ("name", "title", "rows", "features", "splits", "state"):
            table.add_column(heading, justify="right" if heading in ("rows", "features", "splits") else "left")
        for name in suite.datasets():
            entry = datasets.entry(name)
            state = STATES.get(datasets.availability(name, data_dir).state, "[red]broken[/]")
            table.add_row(name, entry.title, str(entry.n_rows), str(entry.n_features), str(entry.n_splits), state)
        out.print(table)
    table = Table(title="Methods", title_justify="left", box=None)
    table.add_column("name")
    table.add_column("what it is")
    for name in methods.names():
        table.add_row(escape(name), escape(methods.describe(name)))
    out.print(table)


def show_missing(missing: Sequence[Missing], console: Console = err) -> None:
    """Data sets that cannot be had, each with its reason and remedy."""
    for one in missing:
        why = f"{escape(one.reason)}.\n  To have it: {escape(one.remedy)}."
        console.print(f"[yellow]Without {escape(one.dataset)}:[/] {why}", soft_wrap=True)


def show_broken(broken: Mapping[str, str]) -> None:
    """Methods of installed packages that cannot be loaded."""
    for problem in broken.values():
        err.print(f"[yellow]Without a method:[/] {escape(problem)}", soft_wrap=True)


def show_excluded(excluded: Mapping[tuple[str, str], str]) -> None:
    """Methods that cannot be used on some of the data sets, with the reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for (method, dataset), reason in excluded.items():
        reasons.setdefault((method, reason), []).append(dataset)
    for (method, reason), names in reasons.items():
        say(f"  {method} is not for {', '.join(names)}: {reason}")


def show_plan(
    named: tuple[str, Protocol], wanted: Sequence[Cell], todo: Sequence[Cell], workers: Sequence[Worker]
) -> None:
    """What is about to run."""
    preset, protocol = named
    if wanted:
        say(f"Preset {preset}: {SUITES[wanted[0].suite].kind.in_words(protocol)}")
    counts = Counter((cell.dataset, cell.method) for cell in wanted)
    for name in dict.fromkeys(cell.dataset for cell in wanted):
        per_method = {count for (dataset, _), count in counts.items() if dataset == name}
        own = len({cell.method for cell in wanted if cell.dataset == name})
        say(f"  {name}: {own} methods x {max(per_method)} splits")
    done = len(wanted) - len(todo)
    finished = f", {done} of them finished before" if done else ""
    say(f"{len(wanted)} cells{finished}; {len(workers)} worker(s) on {', '.join(dict.fromkeys(map(_place, workers)))}")


def _place(worker: Worker) -> str:
    return worker.name.rpartition(" ")[0]


def show_beside(sentences: Sequence[str]) -> None:
    """What is in the results folder already and was made otherwise."""
    for sentence in sentences:
        err.print(f"[yellow]Note:[/] {escape(sentence)}", soft_wrap=True)


def show_timing(cells: Sequence[Cell]) -> None:
    """What is about to be timed."""
    if cells:
        say(f"Timing pass: {len(cells)} cell(s) again, one of each method and data set, alone on the device")
    else:
        say("Timing pass: every method that has finished has its times already")


def show_repeated(differing: Mapping[Cell, Sequence[str]], failed: Mapping[Cell, str]) -> None:
    """Cells that did not give their numbers again, whose times are not kept."""
    for cell, numbers in differing.items():
        told = f"{cell.key} gave other numbers when it was repeated: {'; '.join(numbers)}"
        err.print(f"[bold red]NOT THE SAME:[/] {escape(told)}", soft_wrap=True)
    for cell, status in failed.items():
        err.print(f"[red]Not timed:[/] {escape(cell.key)} {status} when it was repeated", soft_wrap=True)


def show_strange(renamed: Sequence[tuple[Path, str]]) -> None:
    """Files that lay where results do, and were put aside."""
    for path, why in renamed:
        err.print(
            f"[yellow]Put aside:[/] {escape(str(path))}: {escape(why)}; whoever asks for its cell has it run again",
            soft_wrap=True,
        )


def show_not_stored(reason: OSError, folder: Path, cells: Sequence[Cell] = ()) -> None:
    """Why the run ended early, and how to go on."""
    lost = f"{', '.join(cell.key for cell in cells)} not stored: " if cells else ""
    remedy = "Make room there, or make it writable; the same command then goes on from here"
    err.print(
        f"[red]Stopped:[/] {escape(lost)}{escape(str(reason))}.\n"
        f"  What was finished before is kept in {escape(str(folder))}. {remedy}.",
        soft_wrap=True,
    )


def show_no_process(problem: Exception) -> None:
    """Why nothing can be run."""
    err.print(f"[red]Stopped:[/] {escape(str(problem))}", soft_wrap=True)


def show_outcome(rows, wanted: Sequence[Cell], results, missing: Sequence[Missing], page: Path) -> None:
    """A table of the headline from the exported summary `rows`, what went wrong, and where the page is."""
    # A folder that holds several protocols of one preset tells them apart by their hash.
    chosen = {
        (cell.suite, cell.dataset, cell.method, preset)
        for cell in wanted
        for preset in (cell.preset, f"{cell.preset}@{cell.protocol.hash}")
    }
    for name, title in (SUITES[wanted[0].suite].headline if wanted else {}).items():
        figures = {
            (row.dataset, row.method): _figure(row)
            for row in rows[(rows["metric"] == name) & (rows["n"] + rows["n_failed"] > 0)].itertuples()
            if (row.suite, row.dataset, row.method, row.preset) in chosen
        }
        if figures:
            say(f"{title}, mean±standard error over splits (lower is better):")
        for table in _tables(figures, out.width):
            out.print(table)
    statuses = Counter(results.statuses(wanted).values())
    say("Cells: " + ", ".join(f"{statuses[status]} {status}" for status in STATUSES if statuses[status]))
    show_missing(missing, out)
    out.print(f"Page: [bold]{escape(str(page))}[/]", soft_wrap=True)


def _tables(figures: Mapping[tuple[str, str], str], width: int) -> Iterator[Table]:
    """`figures` of (data set, method), methods down and data sets across, in as many tables as the width asks for."""
    ran = {method for _, method in figures}
    names = [name for name in methods.names() if name in ran]
    names += sorted(ran - set(names))
    columns = sorted({dataset for dataset, _ in figures})
    sizes = {one: max(len(one), *(len(figures.get((one, name), "")) for name in names)) + 2 for one in columns}
    while columns:
        left, here = width - max(map(len, names)) - 2, []
        while columns and (not here or sizes[columns[0]] <= left):
            here.append(columns.pop(0))
            left -= sizes[here[-1]]
        table = Table(box=None)
        table.add_column("method", no_wrap=True)
        for one in here:
            table.add_column(one, justify="right", no_wrap=True)
        for name in names:
            table.add_row(escape(name), *(escape(figures.get((one, name), "")) for one in here))
        yield table


def _figure(row) -> str:
    failed = f" ({row.n_failed:.0f} failed)" if row.n_failed else ""
    return f"{row.mean:.2f}±{row.stderr:.2f}{failed}" if row.n > 1 else f"{row.mean:.2f}{failed}"
