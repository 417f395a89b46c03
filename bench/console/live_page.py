"""Result pages that are updated during a run: a separate process rebuilds them as results are stored."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from rich.markup import escape

from lockstep_bench.bench.console.display import err, warn
from lockstep_bench.bench.console.runner import CellStore
from lockstep_bench.bench.execution.supervisor import Died, Stopped, Supervised
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.record import CellResult

PAUSE = 10  # times as long as the last build, which so takes at most an eleventh of a core
SHORTEST_PAUSE_SECONDS = 10
WORTHWHILE_SECONDS = 60  # that the run still takes, or the pages at its end come soon enough
LOOK_SECONDS = 5  # after which the time that is left is estimated again, as a cell may take longer than expected

# Builds the pages; takes how many cells are finished, and how many the run has, and returns the path of the index.
Build = Callable[[tuple[int, int]], Path]


@contextmanager
def live_pages(
    store: CellStore, prepare: Callable[[], None], build: Build, finished: int, weights: Mapping[Cell, float]
) -> Iterator[CellStore]:
    """Yield a store that passes results on to `store`, and keep the pages up to date until the `with` block ends.

    The process that builds the pages starts when a result is stored and more than a minute of the run is left. After
    the last result the run builds the pages itself. A failure to build the pages is printed once, and does not end the
    run.

    Args:
        store: destination of finished cells; a cell is one method on one split of a data set.
        prepare: imports the modules that `build` needs. Both functions can be pickled.
        build: builds the pages.
        finished: number of the run's cells that were finished before it began.
        weights: duration of each cell that is left, in any unit.
    """
    pages = _LivePages(store, prepare, build, finished, weights)
    try:
        yield pages
    finally:
        pages.end()


class _LivePages:
    def __init__(
        self, store: CellStore, prepare: Callable[[], None], build: Build, finished: int, weights: Mapping[Cell, float]
    ):
        self._store, self._prepare, self._build = store, prepare, build
        self._finished, self._wanted = finished, finished + len(weights)
        self._weights, self._begun = weights, time.monotonic()
        self._weight_left = self._weight = sum(weights.values())
        self._grown, self._over = Event(), Event()
        self._child: Supervised | None = None
        self._starting, self._counting = Lock(), Lock()
        self._thread = Thread(target=self._keep_building, daemon=True)
        self._thread.start()

    def write(self, result: CellResult) -> None:
        self._store.write(result)
        with self._counting:
            self._finished += 1
            self._weight_left -= self._weights[result.cell]
        self._grown.set()

    def end(self) -> None:
        with self._starting:
            self._over.set()
        self._grown.set()
        if self._child:
            self._child.end()
        self._thread.join()

    def _keep_building(self) -> None:
        with suppress(Stopped):
            try:
                self._build_repeatedly()
            except Exception as problem:
                if not self._over.is_set():
                    _say_that_pages_wait(problem)

    def _build_repeatedly(self) -> None:
        pause, said = 0.0, False
        while self._grown.wait() and not self._over.wait(pause):
            if self._seconds_left() < WORTHWHILE_SECONDS:
                pause = LOOK_SECONDS
                continue
            self._grown.clear()
            begun, child = time.monotonic(), self._child or self._started()
            page = child.call(_call, self._build, (self._finished, self._wanted))
            if not said:
                err.print(f"Page, which grows with the run: [bold]{escape(str(page))}[/]", soft_wrap=True)
                said = True
            pause = max(SHORTEST_PAUSE_SECONDS, PAUSE * (time.monotonic() - begun))

    def _seconds_left(self) -> float:
        """Return the remaining seconds of the run if its speed stays the same; 0 once all cells are stored."""
        done = self._weight - self._weight_left
        elapsed = time.monotonic() - self._begun
        return elapsed * self._weight_left / done if done > 0 and self._finished < self._wanted else 0.0

    def _started(self) -> Supervised:
        with self._starting:
            if self._over.is_set():
                raise Stopped
            self._child = Supervised({})
        self._child.call(_call, self._prepare)
        return self._child


def _say_that_pages_wait(problem: Exception) -> None:
    reason = str(problem) if isinstance(problem, Died) else f"{type(problem).__name__}: {problem}"
    text = f"the page cannot be built while the run goes on, and is built at its end: {' '.join(reason.split())}"
    warn(text)


def _call(function: Callable[..., Any], *arguments: Any, on_progress: Callable[[Any], None]) -> Any:
    """Call a function in the process that builds the pages."""
    return function(*arguments)
