"""What a person sees while `run_all.py` works."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import datasets
import methods
from bench.cells import Cell, packs
from bench.plan import Missing
from bench.protocol import Protocol
from bench.schema import STATUSES
from bench.suites import SUITES

STATES = {"ready": "[green]ready[/]", "missing": "[yellow]not here[/]", "damaged": "[red]damaged[/]"}
POLL_SECONDS = 0.5
ETA_WINDOW_SECONDS = 600  # cells take seconds to minutes; a short window would make the estimate jump

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A plain line."""
    out.print(escape(text))


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
    named: tuple[str, Protocol], wanted: Sequence[Cell], todo: Sequence[Cell], slots: Sequence[str], workers: int
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
    say(f"{len(wanted)} cells{finished}; {workers} worker(s) on {', '.join(slots)}")


def default_workers(slots: Sequence[str]) -> int:
    """One process per core, or per GPU."""
    import joblib

    return joblib.cpu_count() if slots == ["cpu"] else len(slots)


def run(results, todo: Sequence[Cell], data_dir: Path | None, slots: Sequence[str], workers: int) -> bool:
    """Run cells and store each as it finishes, under a progress bar; True if Ctrl-C ended it."""
    if not todo:
        return False
    import torch

    from bench.pack import MAX_PACK, Job
    from bench.scheduler import run_jobs

    largest = min(MAX_PACK[torch.device(slot).type] for slot in slots)
    jobs = [
        Job(pack, tuple(map(results.journal, pack)), data_dir, slots[number % len(slots)])
        for number, pack in enumerate(packs(todo, largest, workers))
    ]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}/{task.fields[cells]} cells"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=err, speed_estimate_period=ETA_WINDOW_SECONDS) as progress:
        bar = progress.add_task("running", total=sum(cell.work for cell in todo), done=0, cells=len(todo))
        running = {cell: job for job in jobs for cell in job.cells}
        try:
            with closing(run_jobs(jobs, workers)) as outcomes, _polling(progress, bar, running):
                for outcome in outcomes:
                    results.write(outcome.cell, outcome.row, outcome.tables)
                    del running[outcome.cell]
                    progress.update(bar, done=len(todo) - len(running), description=_name(outcome.cell))
                    _show_finished(progress.console, outcome)
        except KeyboardInterrupt:
            said = f"{len(todo) - len(running)} cells finished; the same command goes on from here."
            progress.console.print(f"[yellow]Interrupted:[/] {said}")
            return True
    return False


@contextmanager
def _polling(progress: Progress, bar: TaskID, running: dict) -> Iterator[None]:
    """Keeps the bar at the work of all cells less what is left of those in `running`, cells under way included.

    What jobs do besides training is told in the bar's description, or once on a line where no bar can be seen.
    """
    from bench.scheduler import told

    total, stop, announced = progress.tasks[bar].total, Event(), set()

    def poll() -> None:
        while not stop.wait(POLL_SECONDS):
            now = dict(running)
            states = {job: told(job) for job in set(now.values())}
            left = sum(cell.work * (1 - states[job].done) for cell, job in now.items())
            progress.update(bar, completed=total - left)
            for state in states.values():
                if state.aside:
                    progress.update(bar, description=f"{state.aside}: {state.aside_done:.0%}")
                if state.aside and state.aside not in announced and not progress.console.is_terminal:
                    announced.add(state.aside)
                    progress.console.print(state.aside)

    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        progress.update(bar, completed=total - sum(cell.work for cell in running))


def _show_finished(console: Console, outcome) -> None:
    """A line about a cell that went wrong; about every cell where no bar can be seen."""
    if outcome.row["status"] != "ok":
        last_line = escape(outcome.row["error"].strip().splitlines()[-1])
        console.print(f"[red]{outcome.row['status']}[/] {outcome.cell.key}: {last_line}")
    elif not console.is_terminal:
        name = next(name for name in SUITES[outcome.cell.suite].headline if outcome.row.get(name) is not None)
        console.print(f"{outcome.cell.key}: {name} {outcome.row[name]:.3f}")


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


def _name(cell: Cell) -> str:
    return f"{cell.dataset} {cell.method} split {cell.split}"
