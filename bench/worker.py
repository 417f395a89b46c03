"""From a job to its cells' rows: whatever goes wrong on the way is a row too."""

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import torch

from bench import memory
from bench.cells import Cell
from bench.pack import End, Job
from bench.process import settle
from bench.progress import Tell
from bench.provenance import code_revision, host, versions
from bench.schema import SCHEMA_VERSION
from bench.suites import SUITES


@dataclass(frozen=True)
class Outcome:
    """A finished cell: its row of `bench.schema.CELLS`, and what is kept beside it, by the name of the folder."""

    cell: Cell
    row: dict[str, Any]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


def run(job: Job, tell: Tell = lambda told: None) -> list[Outcome]:
    """Run the cells of a job. Whatever goes wrong inside becomes a row's status and error; nothing is raised.

    `tell` is called now and then with how far the job is.
    """
    settle()
    started = time.perf_counter()
    device = torch.device(job.device)
    memory.reset_peak(device)
    found: list[dict[str, Any]] = [{} for _ in job.cells]
    try:
        ends = SUITES[job.cells[0].suite].kind.pack(job, found, tell).go()
    except Exception as problem:
        if len(job.cells) > 1:
            # Side by side one cell's failure is everybody's; alone it is its own. Finished rounds are kept.
            return [outcome for one in job.alone() for outcome in run(one, tell)]
        ends = [End("failed", traceback.format_exc(limit=-6), error_class=class_name(problem))]
    all_of_job = {"peak_memory_mib": memory.peak_mib(device), "elapsed_seconds": time.perf_counter() - started}
    return [
        Outcome(cell, _identity(cell, device) | own | all_of_job | _ended(end), end.tables)
        for cell, own, end in zip(job.cells, found, ends, strict=True)
    ]


def class_name(problem: BaseException) -> str:
    """Of an exception, "module.Class", or "Class" of one that is built in."""
    kind = type(problem)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def failed_row(cell: Cell, device: str, error: str) -> dict[str, Any]:
    """The row of a cell whose worker did not live to write one."""
    return _identity(cell, torch.device(device)) | {"status": "failed", "error": error}


def _ended(end: End) -> dict[str, Any]:
    return {"status": end.status, "error": end.error, "error_class": end.error_class}


def _identity(cell: Cell, device: torch.device) -> dict[str, Any]:
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
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "host": host(),
        "finished_at": datetime.now(UTC),
    }
