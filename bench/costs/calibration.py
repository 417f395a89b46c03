"""Time and memory of methods on this machine: measured by `bench.costs.probe` in child processes, stored in files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from math import inf
from pathlib import Path

from lockstep_bench import datasets
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.environment.provenance import code_revision, host
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import SETTINGS, Protocol

VARIABLE = "BENCH_CALIBRATION_DIR"
LIMIT_SECONDS = 60  # time limit of one probe; estimates do without a slower one


class Calibrations:
    """Measured costs of cells, stored as JSON files in the user's cache folder or in BENCH_CALIBRATION_DIR.

    A file holds the cost for one method, data set, host, device, torch version and code revision. It is valid for all
    protocols that differ only in the amount of work (`Setting.rescales`), because costs are scaled to that.

    Args:
        worker: a worker of the kind that jobs will run on.
        folder: folder of the files; None for the default.
    """

    def __init__(self, worker: Worker, folder: Path | None = None):
        self._folder = folder or default_folder()
        self._place = host(), worker.device, worker.gpu, worker.threads, version("torch"), *code_revision()

    def kept(self, cell: Cell) -> Cost | None:
        """Return the stored cost of a cell; None if there is none, or its file cannot be read."""
        path = self._path(cell)
        with suppress(OSError, ValueError, TypeError, RecursionError):
            if path.is_file():  # reading a pipe would wait for ever
                cost = Cost(**json.loads(path.read_text()))
                if cost.work > 0 and all(0 <= value < inf for value in cost):
                    return cost
        return None

    def keep(self, cell: Cell, cost: Cost) -> None:
        """Store the cost of a cell. If it cannot be stored, it is measured again the next time."""
        path = self._path(cell)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps(cost._asdict()))
            os.replace(temporary, path)

    def measure(
        self,
        cells: Iterable[Cell],
        workers: Sequence[Worker],
        data_dir: Path | None,
        on_progress: Callable[[], None] = lambda: None,
        seconds: float = inf,
    ) -> None:
        """Measure the costs of cells and store them. Nothing is stored if a measurement fails or takes too long.

        Args:
            cells: the cells.
            workers: the workers, each of which measures one cell at a time. GPUs should do nothing else meanwhile.
            data_dir: data folder; None for the default.
            on_progress: called after each measurement, from several threads.
            seconds: time after which no further measurement begins.
        """
        from lockstep_bench.bench.costs.probe import probe
        from lockstep_bench.bench.execution.measuring import measure_each

        measure_each(
            *(probe, cells, workers, self.keep, data_dir),
            limit=LIMIT_SECONDS,
            on_progress=on_progress,
            seconds=seconds,
        )

    def _path(self, cell: Cell) -> Path:
        source, settings = datasets.entry(cell.dataset), _settings(cell.protocol)
        key = cell.suite, cell.method, cell.dataset, source.n_rows, source.n_features, settings, self._place
        return self._folder / f"{hashlib.sha256(json.dumps(key, default=str).encode()).hexdigest()[:32]}.json"


@cache
def _settings(protocol: Protocol) -> dict[str, object]:
    """Return the fields of a protocol that must be equal for a stored cost to be valid, with their values."""
    return {name: getattr(protocol, name) for name, setting in SETTINGS.items() if not setting.rescales}


def default_folder() -> Path:
    """Return the folder of the stored costs: BENCH_CALIBRATION_DIR, or else a folder in the user's cache folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "calibrations"
