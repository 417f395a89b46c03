"""What stacks cost on this machine, in seconds and bytes: measured by a few updates of the real thing, and kept.

    seconds of a stack of R rows = setup + R setup_row + updates (update + R update_row)
    seconds of its predictions   = R points samples predict

The measurement itself is `bench.probe`, made in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import ceil, inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import datasets
from bench.cells import Cell
from bench.packing import Need
from bench.provenance import code_revision, host
from bench.slots import Slot
from datasets.streams import StreamSource

if TYPE_CHECKING:
    from bench.attempt import Crew

VARIABLE = "BENCH_CALIBRATION_DIR"
LIMIT_SECONDS = 60  # of one probe; what is slower is planned without


@dataclass(frozen=True)
class Cost:
    """What was measured of a method on a data set.

    Attributes:
        setup, setup_row: seconds that a stack takes besides its updates, and more for each of its rows.
        update, update_row: seconds of an update, and more for each row.
        predict: seconds per row, point and sample.
        base_bytes, row_bytes: of memory, as in `bench.packing.Need`.
        train_share, test_share: rows to train on, and points to predict at, of a cell, over the rows of the data set.
        stacked: whether rows advance together.
        members, final_members: rows of a trial's fit, and of a final fit.
        batches_per_update: minibatches that an update takes.
        trials, fits_per_trial: of a cell.
        effort: how many times the protocol's epochs.
    """

    setup: float
    setup_row: float
    update: float
    update_row: float
    predict: float
    base_bytes: int
    row_bytes: int
    train_share: float
    test_share: float
    stacked: bool = True
    members: int = 1
    final_members: int = 1
    batches_per_update: int = 1
    trials: int = 0
    fits_per_trial: int = 1
    effort: float = 1.0

    @property
    def need(self) -> Need:
        """Memory of a job."""
        return Need(self.base_bytes, self.row_bytes)

    def seconds(self, cells: Sequence[Cell], rows: int) -> float:
        """Of a job of `cells` whose stacks have at most so many rows: of its trials, and of its final fits."""
        cell, n_rows = cells[0], datasets.entry(cells[0].dataset).n_rows
        protocol, train, test = cell.protocol, round(self.train_share * n_rows), self.test_share * n_rows
        fits = len(cells) * self.trials * self.fits_per_trial
        held_out = train // protocol.folds if self.fits_per_trial > 1 else 0
        tuning = self._training(fits * self.members, self._rounds(cell), train - held_out, cell, rows)
        final = self._training(len(cells) * self.final_members, 1, train, cell, rows)
        predicted = fits * held_out * protocol.validation_samples + len(cells) * test * protocol.samples
        return tuning + final + predicted * self.predict

    def _training(self, n_rows: int, rounds: int, train: int, cell: Cell, rows: int) -> float:
        if not n_rows:
            return 0.0
        updates = self._updates(cell, train)
        stacks = rounds * ceil(n_rows / rounds / rows) if self.stacked else 0
        return stacks * (self.setup + updates * self.update) + n_rows * (self.setup_row + updates * self.update_row)

    def _updates(self, cell: Cell, train: int) -> int:
        protocol, source = cell.protocol, datasets.entry(cell.dataset)
        if isinstance(source, StreamSource):
            return min(protocol.stream_length, source.max_length or protocol.stream_length)
        minibatches = protocol.epochs * self.effort * ceil(train / min(protocol.batch_size, train))
        updates = min(minibatches, protocol.max_minibatches or minibatches) / self.batches_per_update
        return ceil(min(updates, protocol.max_updates or updates))

    def _rounds(self, cell: Cell) -> int:
        from bench.tuner import rounds

        return max(1, sum(1 for _ in rounds(cell.protocol)))


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
        from bench.attempt import Crew

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
        from bench.probe import probe

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
        sizes = protocol.batch_size, protocol.network, protocol.likelihood, protocol.max_train, protocol.max_test
        key = [
            *(cell.suite, cell.method, cell.dataset, source.n_rows, source.n_features, *sizes),
            *(protocol.trials, protocol.folds, protocol.sampler, protocol.space, protocol.start),
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
