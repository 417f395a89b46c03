"""Runs jobs under a progress bar, stores each cell as it finishes, and understands Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from threading import Event, RLock, Thread
from typing import Protocol

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench.console.display import err
from bench.execution.scheduler import Backend, run_jobs
from bench.execution.workers import Worker
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.experiment.progress import JobProgress
from bench.experiment.suites import SUITES
from bench.results.record import CellResult
from bench.results.storage import NotStored

POLL_SECONDS = 0.1
ETA_WINDOW_SECONDS = 600  # cells take seconds to minutes; a short window would make the estimate jump


class Store(Protocol):
    """Where finished cells go."""

    def write(self, result: CellResult) -> None:
        """Take the result of a cell."""


def run(
    store: Store,
    jobs: Sequence[Job],
    where: Sequence[Worker] | Backend,
    timeout: float | None = None,
    weights: Mapping[Cell, float] | None = None,
) -> bool:
    """Run jobs on workers of this machine, or by a backend, and store their cells; True if Ctrl-C ended it.

    The first Ctrl-C lets the jobs that run come to their end; the second drops them, and raises KeyboardInterrupt.
    `timeout` is in seconds per cell. `weights` are how long cells take, in any unit, from which follows how much is
    left; by default their work.

    Raises `bench.results.storage.NotStored` and `bench.execution.pool.NoProcess`; what was finished before is stored.
    """
    stop = Event()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}/{task.fields[cells]} cells"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=err, speed_estimate_period=ETA_WINDOW_SECONDS) as progress:
        board = Board(progress, jobs, weights)
        results = run_jobs(jobs, where, timeout=timeout, on_progress=board.tell, on_retry=board.again, stop=stop)
        try:
            with _first_ctrl_c(stop, board.interrupted), closing(results):
                for result in results:
                    _store(store, result)
                    board.finished(result)
        except KeyboardInterrupt:
            board.ended(dropped=True)
            raise
        if stop.is_set():
            board.ended(dropped=False)
    return stop.is_set()


def _store(store: Store, result: CellResult) -> None:
    try:
        store.write(result)
    except OSError as problem:
        raise NotStored((result.cell,), problem) from problem


@contextmanager
def _first_ctrl_c(stop: Event, announce: Callable[[], None]) -> Iterator[None]:
    """Makes the first Ctrl-C set `stop`, after which `announce` is called; the next one raises KeyboardInterrupt."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C is ignored, or somebody else's
        return

    def handler(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, usual)
        stop.set()

    def wait_and_announce() -> None:
        # In a thread: a handler may interrupt the very printing that it would have to wait for.
        while not over.wait(POLL_SECONDS):
            if stop.is_set():
                announce()
                return

    over = Event()
    Thread(target=wait_and_announce, daemon=True).start()
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        over.set()


class Board:
    """What the bar and the lines above it say of jobs; told from several threads.

    The bar stands at the work of all cells that are finished and that part of those under way which is done.
    """

    def __init__(self, progress: Progress, jobs: Sequence[Job], weights: Mapping[Cell, float] | None = None):
        self._progress, self._lock = progress, RLock()
        self._work = weights or {cell: cell.work for job in jobs for cell in job.cells}
        self._bar = progress.add_task("running", total=sum(self._work.values()), done=0, cells=len(self._work))
        self._n_finished, self._work_finished = 0, 0.0
        self._running: dict[Job, JobProgress] = {}
        self._announced: set[str] = set()

    def tell(self, job: Job, told: JobProgress) -> None:
        """A job begins, or is as far as told."""
        with self._lock:
            self._running[job] = told
            self._move(f"{told.activity}: {told.activity_done:.0%}" if told.activity else None)
            if told.activity and told.activity not in self._announced and not self._progress.console.is_terminal:
                self._announced.add(told.activity)
                self._progress.console.print(told.activity)

    def finished(self, result: CellResult) -> None:
        """A cell is stored."""
        with self._lock:
            self._forget(result.cell)
            self._n_finished += 1
            self._work_finished += self._work[result.cell]
            self._move(_name(result.cell))
        console = self._progress.console
        if result.status != "ok":
            console.print(_complaint(result))
        elif not console.is_terminal:
            name = next(name for name in SUITES[result.cell.suite].headline if name in result.outcome.metrics)
            console.print(f"{result.cell.key}: {name} {result.outcome.metrics[name]:.3f}")

    def again(self, result: CellResult) -> None:
        """A cell went wrong and is tried once more when all others are done."""
        with self._lock:
            self._forget(result.cell)
            self._move()
        self._progress.console.print(f"{_complaint(result)} [yellow](is tried again, alone, at the end)[/]")

    def interrupted(self) -> None:
        """Ctrl-C was pressed for the first time."""
        with self._lock:
            names = ", ".join(_names(job.cells) for job in self._running) or "nothing"
        self._progress.console.print(
            f"[yellow]Interrupted:[/] finishing what runs: {escape(names)}. Ctrl-C again drops it.", soft_wrap=True
        )

    def ended(self, dropped: bool) -> None:
        """A run that Ctrl-C ended is over, and what ran then was dropped if it was pressed twice."""
        with self._lock:
            names = ", ".join(_names(job.cells) for job in self._running)
        said = f"{self._n_finished} of {len(self._work)} cells finished; the same command goes on from here."
        if dropped and names:
            said = f"dropped {escape(names)}. {said}"
        self._progress.console.print(f"[yellow]Interrupted:[/] {said}", soft_wrap=True)

    def _forget(self, cell: Cell) -> None:
        self._running = {job: told for job, told in self._running.items() if cell not in job.cells}

    def _move(self, description: str | None = None) -> None:
        under_way = sum(told.done * sum(map(self._work.get, job.cells)) for job, told in self._running.items())
        completed = self._work_finished + under_way
        self._progress.update(self._bar, completed=completed, done=self._n_finished, description=description)


def _complaint(result: CellResult) -> str:
    last_line = escape((result.outcome.error or "").strip().splitlines()[-1])
    return f"[red]{result.status}[/] {escape(result.cell.key)}: {last_line}"


def _name(cell: Cell) -> str:
    return f"{cell.dataset} {cell.method} split {cell.split}"


def _names(cells: Sequence[Cell]) -> str:
    """Cells that differ in their split alone."""
    if len(cells) == 1:
        return _name(cells[0])
    return f"{cells[0].dataset} {cells[0].method} splits {', '.join(str(cell.split) for cell in cells)}"
