"""Costs of methods on this machine, measured by `bench.costs.probe` in a process of its own, and kept."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import datasets
from bench.costs.cost import Cost
from bench.environment.provenance import code_revision, host
from bench.execution.workers import Slot
from bench.experiment.cells import Cell
from bench.experiment.protocol import SETTINGS

if TYPE_CHECKING:
    from bench.execution.retry import Crew

VARIABLE = "BENCH_CALIBRATION_DIR"
LIMIT_SECONDS = 60  # of one probe; what is slower is planned without


class Calibrations:
    """Costs that are kept in the user's cache folder, or in BENCH_CALIBRATION_DIR, a JSON file each.

    A file is of one method, data set and batch size, of this host, device, torch and code revision.

    Args:
        slot: one of those that jobs will run on; the others are like it.
    """

    def __init__(self, slot: Slot, folder: Path | None = None):
        self.slot, self._folder = slot, folder or default_folder()

    def kept(self, cell: Cell) -> Cost | None:
        """What was measured before, if anything was."""
        with suppress(OSError, ValueError, TypeError):
            return Cost(**json.loads(self._path(cell).read_text()))
        return None

    def measure(
        self,
        cells: Iterable[Cell],
        slots: Sequence[Slot],
        data_dir: Path | None,
        done: Callable[[], None] = lambda: None,
        seconds: float = inf,
    ) -> None:
        """Measure each of the cells and keep what is found; one that fails, or takes too long, is left out.

        Args:
            slots: on each of which one measurement is made at a time; on GPUs they had better be exclusive.
            done: called after each measurement, from several threads.
            seconds: after which no other measurement begins.
        """
        from bench.execution.retry import Crew

        waiting, end, crew = SimpleQueue(), time.monotonic() + seconds, Crew()
        for cell in cells:
            waiting.put(cell)

        def next_one() -> Cell | None:
            with suppress(Empty):
                return waiting.get_nowait() if time.monotonic() < end else None
            return None

        with ThreadPoolExecutor(len(slots)) as pool:
            ended = [pool.submit(self._measure_on, slot, crew, next_one, data_dir, done) for slot in slots]
            try:
                for one in ended:
                    one.result()
            finally:
                crew.end()  # at Ctrl-C too, so that the threads end

    def _measure_on(
        self,
        slot: Slot,
        crew: Crew,
        next_one: Callable[[], Cell | None],
        data_dir: Path | None,
        done: Callable[[], None],
    ) -> None:
        from bench.costs.probe import probe

        while (cell := next_one()) is not None:
            with suppress(Exception):  # whatever is wrong will be told when the cell itself runs
                process, _ = crew.of(slot)
                self._keep(cell, process.call(probe, cell, data_dir, slot.device, limit=LIMIT_SECONDS))
            done()

    def _keep(self, cell: Cell, cost: Cost) -> None:
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(asdict(cost)))
        os.replace(temporary, path)

    def _path(self, cell: Cell) -> Path:
        from importlib.metadata import version

        source, protocol = datasets.entry(cell.dataset), cell.protocol
        settings = {name: getattr(protocol, name) for name, setting in SETTINGS.items() if not setting.rescales}
        key = [
            *(cell.suite, cell.method, cell.dataset, source.n_rows, source.n_features, settings),
            *(host(), self.slot.device, self.slot.gpu, self.slot.threads, version("torch"), *code_revision()),
        ]
        return self._folder / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]}.json"


def default_folder() -> Path:
    """Where measurements are kept: BENCH_CALIBRATION_DIR, else the user's cache folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "calibrations"
