"""From a job to its cells' rows: whatever goes wrong on the way is a row too."""

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import torch

from bench.environment import memory
from bench.environment.process import settle
from bench.environment.provenance import code_revision, host, versions
from bench.experiment.cells import Cell
from bench.experiment.jobs import End, Job
from bench.experiment.progress import Tell
from bench.experiment.suites import SUITES
from bench.results.storage import cannot_store
from bench.schema import SCHEMA_VERSION
from bench.tuning.tuner import Diverged


@dataclass(frozen=True)
class Outcome:
    """A finished cell: its row of `bench.schema.CELLS`, and what is kept beside it, by the name of the folder."""

    cell: Cell
    row: dict[str, Any]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


def ready(device: str, threads: int, *, tell: Tell) -> str:
    """Make this process one that runs jobs; the name of its device."""
    settle(threads)
    return _name_of(torch.device(device))


def run(job: Job, device: str = "cpu", *, tell: Tell = lambda told: None) -> list[Outcome]:
    """Run the cells of a job side by side on a torch device.

    Whatever goes wrong inside becomes the status and error of every cell that has no end yet. What is raised is an
    OSError where nothing more can be stored, which is no cell's fault. `tell` is called now and then with how far the
    job is.
    """
    started = time.perf_counter()
    device = torch.device(device)
    memory.reset_peak(device)
    found: list[dict[str, Any]] = [{} for _ in job.cells]
    try:
        ends = SUITES[job.cells[0].suite].kind.pack(job, device, found, tell).go()
    except Exception as problem:
        if cannot_store(problem, {journal.parent for journal in job.journals}):
            raise
        ends = [End("failed", traceback.format_exc(limit=-6), error_class=class_name(problem))] * len(job.cells)
    all_of_job = {"peak_memory_mib": memory.peak_mib(device), "elapsed_seconds": time.perf_counter() - started}
    return [
        Outcome(cell, _identity(cell, _name_of(device)) | own | all_of_job | _ended(end), end.tables)
        for cell, own, end in zip(job.cells, found, ends, strict=True)
    ]


def class_name(problem: BaseException) -> str:
    """Of an exception, "module.Class", or "Class" of one that is built in."""
    kind = type(problem)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def row_of_the_lost(cell: Cell, device: str, end: End, elapsed_seconds: float) -> dict[str, Any]:
    """The row of a cell whose process, on a device of that name, did not live to write one."""
    return _identity(cell, device) | _ended(end) | {"elapsed_seconds": elapsed_seconds}


def _ended(end: End) -> dict[str, Any]:
    error_class = class_name(Diverged()) if end.status == "diverged" else end.error_class
    return {"status": end.status, "error": end.error, "error_class": error_class}


def _name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _identity(cell: Cell, device: str) -> dict[str, Any]:
    revision = code_revision()
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": cell.suite,
        "dataset": cell.dataset,
        "method": cell.method,
        "split": cell.split,
        "preset": cell.preset,
        "seed": cell.seed,
        "protocol": cell.protocol.to_json(),
        "protocol_hash": cell.protocol.hash,
        "code_revision": revision.commit,
        "code_dirty": revision.dirty,
        "versions": versions(),
        "device": device,
        "host": host(),
        "finished_at": datetime.now(UTC),
    }
