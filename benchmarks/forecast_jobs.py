"""Jobs that are forecast as in a dry run, and then run; for `benchmarks.forecasts`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.workload import PlannedJob, surroundings, workload
from lockstep_bench.bench.execution.pool import Pool
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.execution.workers import Worker, workers_on
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.experiment.request import Request
from lockstep_bench.bench.experiment.resolved import resolve
from lockstep_bench.bench.results.folder import Results


class Compared(NamedTuple):
    """A job with its forecast and what it took, both in seconds of computing; `status` is that of its first cell."""

    planned: PlannedJob
    took: float
    status: str

    def __str__(self) -> str:
        first, forecast = self.planned.cells[0], self.planned.estimate
        name = f"| {first.dataset} | `{first.method}` | {len(self.planned.cells)} "
        known = f"| {forecast.seconds:.2f} | {self.took:.2f} | {forecast.seconds / self.took:.2f} | {forecast.basis}"
        return f"{name}{known} | {self.status} |"


def compare(request: Request, data_dir: Path | None) -> Iterator[Compared]:
    """Forecast the jobs of a request, run them, and yield each with what it took."""
    with TemporaryDirectory() as folder:
        results = Results(Path(folder) / "results")
        (worker,) = workers_on(["cpu"], 1)
        calibrations = Calibrations(worker, Path(folder) / "calibrations")
        cells = resolve([request], data_dir, fetch=False).cells

        def measure(kept: Calibrations, unknown: Sequence[Cell], workers: Sequence[Worker]) -> None:
            kept.measure(unknown, [worker], data_dir)

        place = surroundings(["cpu"])
        load = workload(cells, place, results.rows(), each=1, measure=measure, calibrations=calibrations)
        pool = Pool()
        try:
            process, _ = pool.process_of(worker)
            first, *_ = load.jobs(lambda cell: Path(folder) / f"imports-{cell.split}.json", data_dir)
            process.call(timed, first, worker.device)
            for planned, job in zip(load.planned, load.jobs(results.journal, data_dir), strict=True):
                took, status = process.call(timed, job, worker.device)
                yield Compared(planned, took, status)
        finally:
            pool.end()


def timed(job: Job, device: str, *, on_progress: OnProgress) -> tuple[float, str]:
    """Run a job in this process, and return its seconds of computing and the status of its first cell."""
    started = sum(os.times()[:4])
    result, *_ = run(job, device, on_progress=on_progress)
    return sum(os.times()[:4]) - started, result.status
