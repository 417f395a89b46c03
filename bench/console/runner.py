"""Running of jobs under a progress bar: stores each result as soon as it is finished, and ends cleanly at Ctrl-C."""

import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from threading import Event, RLock, Semaphore, Thread
from typing import Protocol

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lockstep_bench.bench.console.display import SlowFits, err
from lockstep_bench.bench.execution.returned import NOT_NATIVE
from lockstep_bench.bench.execution.scheduler import Backend, LocalBackend, run_jobs
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import JobProgress
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.record import CellResult, Outcome, class_name
from lockstep_bench.bench.results.storage import NotStored
from lockstep_bench.shared.texts import capped, visible

POLL_SECONDS = 0.1
WRITERS = 16  # results that are stored at the same time
ETA_WINDOW_SECONDS = 600  # cells take seconds to minutes; a short window would make the estimate jump
LONGEST_REASON = 500  # characters of an error's last line that are printed


class CellStore(Protocol):
    """Interface of an object that stores the results of finished cells."""

    def write(self, result: CellResult) -> None:
        """Store the result of one cell, that is, of one method on one split of a data set; several threads call it."""


def run(
    store: CellStore,
    jobs: Sequence[Job],
    where: Sequence[Worker] | Backend,
    timeout: float | None = None,
    weights: Mapping[Cell, float] | None = None,
    slow_fits: SlowFits | None = None,
) -> bool:
    """Run jobs (batches of cells) and store each cell's result. Return True if Ctrl-C ended the run.

    The first Ctrl-C lets running jobs finish. The second one stops them and raises KeyboardInterrupt.

    Args:
        store: destination of finished cells.
        jobs: the jobs, in the order in which they begin.
        where: worker processes of this machine, or the backend of a cluster.
        timeout: seconds that a cell may take; None for no limit.
        weights: duration of each cell in any unit, for the estimate of the time left; None for `Cell.work`.
        slow_fits: printer of warnings about slow fits, which shows none twice; None for a new one.

    Raises:
        bench.results.storage.NotStored: nothing more can be stored. Results of earlier cells are kept.
        bench.execution.pool.NoProcess: no worker process can be started.
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
    # Where nothing is drawn before the end, ten refreshes a second would cost time for nothing.
    progress = Progress(*columns, console=err, auto_refresh=err.is_terminal, speed_estimate_period=ETA_WINDOW_SECONDS)
    with progress:
        board = ProgressBoard(progress, jobs, weights, slow_fits)
        backend = LocalBackend(where) if isinstance(where, Sequence) else where
        results = run_jobs(
            jobs, backend, timeout=timeout, on_progress=board.on_progress, on_retry=board.on_retry, stop=stop
        )
        try:
            with (
                _first_ctrl_c(stop, board.interrupted),
                _Writers(store, board.finished, backend.end) as writers,
                closing(results),
            ):
                for result in results:
                    writers.put(result)
        except KeyboardInterrupt:
            board.ended(dropped=True)
            raise
        if stop.is_set():
            board.ended(dropped=False)
    return stop.is_set()


class _Writers(AbstractContextManager["_Writers"]):
    """Threads that store results: a disk can confirm many files at once, but a single thread would wait for each.

    Args:
        store: destination of the results.
        finished: called with each stored result, in the order in which they were put.
        give_up: called once, after a result could not be stored. The context then ends with the reason.
    """

    def __init__(self, store: CellStore, finished: Callable[[CellResult], None], give_up: Callable[[], None]):
        self._store, self._finished, self._give_up = store, finished, give_up
        self._threads, self._room = ThreadPoolExecutor(WRITERS), Semaphore(2 * WRITERS)
        self._waiting: deque[Future[CellResult]] = deque()
        self._lock = RLock()
        self._problem: BaseException | None = None

    def put(self, result: CellResult) -> None:
        """Store a result soon; waits while many others are to be stored. After a failure it is dropped."""
        self._room.acquire()
        with self._lock:
            if self._problem:
                self._room.release()
                return
            future = self._threads.submit(_stored, self._store, result)
            self._waiting.append(future)
        future.add_done_callback(self._settle)

    def __exit__(self, *problem: object) -> None:
        self._threads.shutdown()
        if self._problem:
            raise self._problem

    def _settle(self, _: Future[CellResult]) -> None:
        """Report the results that are stored, up to the first that is not."""
        with self._lock:
            while self._waiting and self._waiting[0].done():
                future = self._waiting.popleft()
                self._room.release()
                try:
                    self._finished(future.result())
                except Exception as problem:
                    if not self._problem:
                        self._problem = problem
                        self._give_up()


def _stored(store: CellStore, result: CellResult) -> CellResult:
    """Store a result and return it; one that cannot be stored is replaced by a failure that says why."""
    try:
        try:
            store.write(result)
            return result
        except OSError:
            raise
        except Exception as problem:  # the content of this result is at fault, and other cells go on
            error = f"the result cannot be stored: {class_name(problem)}: {problem}"
            outcome = Outcome(status="failed", error=error, error_class=class_name(problem))
            failure = replace(result, outcome=outcome, log=None)
            with suppress(ValueError, TypeError, LookupError):  # the cell then stays unfinished
                store.write(failure)
            return failure
    except OSError as problem:
        raise NotStored((result.cell,), problem) from problem


@contextmanager
def _first_ctrl_c(stop: Event, announce: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C set `stop` and call `announce`, and the second raise KeyboardInterrupt."""
    default = signal.getsignal(signal.SIGINT)
    if default is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C is ignored, or handled elsewhere
        return

    def handler(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, default)
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
        signal.signal(signal.SIGINT, default)
        over.set()


class ProgressBoard:
    """Progress bar of jobs, with messages printed above it. Its methods may be called from several threads.

    The bar shows the work of all finished cells and the finished part of running cells.

    Args:
        progress: rich's progress bar.
        jobs: all jobs.
        weights: duration of each cell in any unit; None for `Cell.work`.
        slow_fits: printer of warnings about slow fits, which shows none twice; None for a new one.
    """

    def __init__(
        self,
        progress: Progress,
        jobs: Sequence[Job],
        weights: Mapping[Cell, float] | None = None,
        slow_fits: SlowFits | None = None,
    ):
        self._progress, self._lock = progress, RLock()
        self._in_terminal = progress.console.is_terminal  # looked up once, as rich reads the environment each time
        self._slow_fits = slow_fits or SlowFits()
        self._work = weights or {cell: cell.work for job in jobs for cell in job.cells}
        self._bar = progress.add_task("starting", total=sum(self._work.values()), done=0, cells=len(self._work))
        self._n_finished, self._work_finished, self._work_under_way = 0, 0.0, 0.0
        self._running: dict[Cell, tuple[Job, float]] = {}  # with its finished work, by the job's first cell
        self._announced: set[str] = set()

    def on_progress(self, job: Job, progress: JobProgress) -> None:
        """Show that a job has begun, or update its progress."""
        with self._lock:
            self._forget(job.cells[0])
            work = progress.done * sum(self._work[cell] for cell in job.cells)
            self._running[job.cells[0]] = job, work
            self._work_under_way += work
            activity = progress.activity
            self._move(f"{activity}: {progress.activity_done:.0%}" if activity else None)
            if activity and activity not in self._announced and not self._in_terminal:
                self._announced.add(activity)
                self._progress.console.print(activity)

    def finished(self, result: CellResult) -> None:
        """Show that a cell is finished and stored."""
        with self._lock:
            self._forget(result.cell)  # the result of a job's first cell comes first
            self._n_finished += 1
            self._work_finished += self._work[result.cell]
            self._move(_name(result.cell))
            for line in (result.log or "").splitlines():
                if line.startswith(NOT_NATIVE):
                    self._slow_fits.show(line.removeprefix(NOT_NATIVE), result.cell)
        console = self._progress.console
        if result.status != "ok":
            console.print(_complaint(result))
        elif not self._in_terminal:
            name = next(name for name in SUITES[result.cell.suite].headline if name in result.outcome.metrics)
            # Not by rich, whose layout of a line takes longer than all else that the driver does for a cell.
            line = visible(f"{result.cell.key}: {name} {result.outcome.metrics[name]:.3f}")
            print(line, file=console.file, flush=True)

    def on_retry(self, result: CellResult) -> None:
        """Show that a cell failed and will be retried alone, after all other cells."""
        with self._lock:
            self._forget(result.cell)
            self._move()
        self._progress.console.print(f"{_complaint(result)} [yellow](will be retried alone, at the end)[/]")

    def interrupted(self) -> None:
        """Show that Ctrl-C was pressed for the first time."""
        with self._lock:
            names = ", ".join(_names(job.cells) for job, _ in self._running.values()) or "nothing"
        self._progress.console.print(
            f"[yellow]Interrupted:[/] finishing what runs: {escape(names)}. Ctrl-C again drops it.", soft_wrap=True
        )

    def ended(self, dropped: bool) -> None:
        """Show that the run ended by Ctrl-C; `dropped` tells whether a second Ctrl-C stopped the running jobs."""
        with self._lock:
            names = ", ".join(_names(job.cells) for job, _ in self._running.values())
        text = f"{self._n_finished} of {len(self._work)} cells finished; the same command goes on from here."
        if dropped and names:
            text = f"dropped {escape(names)}. {text}"
        self._progress.console.print(f"[yellow]Interrupted:[/] {text}", soft_wrap=True)

    def _forget(self, first: Cell) -> None:
        _, work = self._running.pop(first, (None, 0.0))
        self._work_under_way -= work

    def _move(self, description: str | None = None) -> None:
        completed = self._work_finished + self._work_under_way
        self._progress.update(self._bar, completed=completed, done=self._n_finished, description=description)


def _complaint(result: CellResult) -> str:
    # The last line with words: that of a group of exceptions is the end of a frame.
    lines = re.findall(r"^[ |+-]*(.*\w.*)$", result.outcome.error or "", re.MULTILINE) or ["no reason given"]
    return f"[red]{result.status}[/] {escape(result.cell.key)}: {escape(capped(lines[-1], LONGEST_REASON))}"


def _name(cell: Cell) -> str:
    return f"{cell.dataset} {cell.method} split {cell.split}"


def _names(cells: Sequence[Cell]) -> str:
    """Return a phrase for cells that differ only in their split."""
    if len(cells) == 1:
        return _name(cells[0])
    return f"{cells[0].dataset} {cells[0].method} splits {', '.join(str(cell.split) for cell in cells)}"
