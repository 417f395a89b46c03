"""Overhead of a benchmark run, which is its time besides training: `python -m benchmarks.overhead`.

    python -m benchmarks.overhead --jobs 1000        # time that workers wait, and computing time of the main process
    python -m benchmarks.overhead --store 5000       # number of results from many workers that are stored per second
    python -m benchmarks.overhead --scan 10000       # time in which a resumed run reads the finished cells
    python -m benchmarks.overhead --rows 100000      # time and memory of commands on that many published rows
    python -m benchmarks.overhead --plan 400000      # time and memory of a dry run of that many cells

A cell is one method on one split of a data set, and a job is one or more cells that a worker trains together. The cells
of the first measurement are as small as possible: one trial of MAP, a few minibatches. The second repeats the result of
such a cell (`benchmarks.simulated`), from 400 workers that take half a second for each. The other measurements make up
results without training (`benchmarks.many_rows`) or data sets (`benchmarks.many_sets`), and start each command as a
user would. The dry run reads made-up costs of methods instead of measuring them, which takes up to 20 seconds.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from lockstep_bench.shared.door import Door
from benchmarks.trivial import trivial_cells

SIMULATED_WORKERS, SIMULATED_SECONDS = 400, 0.5

ROOT = Path(__file__).resolve().parents[1]
WRITE = """
import sys
from pathlib import Path
from benchmarks import many_rows
getattr(many_rows, sys.argv[3])(Path(sys.argv[1]), many_rows.size_of(int(sys.argv[2])))
"""
RESUME = """
import sys
from pathlib import Path
from lockstep_bench.bench.results.folder import Results
results = Results(Path(sys.argv[1]))
results.mend()
results.rows()
"""
DRY_RUN = """
import sys
from lockstep_bench.bench.console import forecast
from benchmarks.many_sets import keep_made_up_costs
forecast.measuring = lambda *_: keep_made_up_costs
from lockstep_bench.run import app
app(sys.argv[1:])
"""

app = Door()


@app.command()
def main(
    jobs: Annotated[int, typer.Option(help="Trivial cells to run, one per job.", min=0)] = 0,
    store: Annotated[int, typer.Option(help="Trivial cells of simulated workers to store.", min=0)] = 0,
    scan: Annotated[int, typer.Option(help="Finished cells that a resumed run reads.", min=0)] = 0,
    rows: Annotated[int, typer.Option(help="Published rows that pages and tables are made of.", min=0)] = 0,
    plan: Annotated[int, typer.Option(help="Cells that a dry run plans.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes that run the jobs.", min=1)] = 2,
) -> None:
    """Measure the overhead of the benchmark: its time besides training."""
    if not any((jobs, store, scan, rows, plan)):
        raise typer.BadParameter(
            "nothing to measure; give --jobs 1000, --store 5000, --scan 10000, --rows 100000, --plan 400000 or several"
        )
    with TemporaryDirectory() as folder:
        if jobs:
            typer.echo(_of_jobs(Path(folder) / "jobs", jobs, workers))
        if store:
            typer.echo(_of_storing(Path(folder) / "store", store))
        if scan:
            typer.echo(_of_scan(Path(folder) / "scan", scan))
        if rows:
            for line in _of_commands(Path(folder) / "rows", rows):
                typer.echo(line)
        if plan:
            typer.echo(_of_plan(Path(folder) / "plan", plan))


def _of_jobs(folder: Path, count: int, workers: int) -> str:
    from lockstep_bench.bench.execution.scheduler import run_jobs
    from lockstep_bench.bench.execution.workers import workers_on
    from lockstep_bench.bench.experiment.jobs import Job
    from lockstep_bench.bench.results.folder import Results

    results = Results(folder)
    jobs = [Job((cell,), (results.journal(cell),), None) for cell in trivial_cells(count + workers)]
    busy, storing, n_measured = 0.0, 0.0, 0
    with closing(run_jobs(jobs, workers_on(["cpu"], workers))) as finished:
        for number, result in enumerate(finished, start=1):
            if number == workers:  # by now every process has been started
                started, computing = time.perf_counter(), time.process_time()
            before = time.thread_time()
            results.write(result)
            if number >= workers:
                storing += time.thread_time() - before
            if number > workers:
                busy, n_measured = busy + result.elapsed_seconds, n_measured + 1
    seconds = time.perf_counter() - started
    scheduling = time.process_time() - computing - storing
    parts = {
        "workers waited": seconds - busy / workers,
        "the main process computed to schedule": scheduling / workers,
        "and to store": storing / workers,
    }
    shares = ", ".join(f"{what} {part / seconds:.1%}" for what, part in parts.items())
    each = f"{busy / n_measured * 1000:.0f} ms"
    return f"{n_measured} jobs of {each} on {workers} workers in {seconds:.1f} s; of which {shares}"


def _of_storing(folder: Path, count: int) -> str:
    from benchmarks.simulated import simulate

    done = simulate(folder, count, SIMULATED_WORKERS, SIMULATED_SECONDS)
    return (
        f"{count} cells of {SIMULATED_WORKERS} simulated workers, at most {done.most_at_once} at work at a time, "
        f"stored in {done.seconds:.1f} s: {count / done.seconds:.0f} a second, of which the main process computed "
        f"{1000 * done.computing / count:.2f} ms for each"
    )


def _of_scan(folder: Path, count: int) -> str:
    from benchmarks.many_rows import size_of

    _write(folder, count, "write_separately")
    first, then = (_of_command(["-c", RESUME, str(folder)], folder) for _ in range(2))
    return f"{size_of(count).n_rows} finished cells: {then}; the first time, {first}"


def _of_commands(folder: Path, count: int) -> Iterator[str]:
    """Yield time and memory of each command on a folder of published rows; each runs in a separate process."""
    from benchmarks.many_rows import PRESET, SUITE, size_of

    size, site = size_of(count), folder / "site"
    _write(folder, count, "write_published")
    yield f"{size.n_rows} rows: {size.methods} methods, {size.datasets} data sets, {size.splits} splits"
    rank = ["rank", str(folder), "--suite", SUITE, "--preset", PRESET, "--metric", "nmll"]
    pages = [["build", str(folder), "--html", str(site)], ["export", str(folder)], rank]
    commands = {arguments[0]: ["-m", "lockstep_bench.leaderboards", *arguments] for arguments in pages}
    for name, arguments in ({"resume": ["-c", RESUME, str(folder)]} | commands).items():
        yield f"{name}: {_of_command(arguments, folder)}"
    _write(folder, count, "write_ten_more")
    yield f"build with ten rows more: {_of_command(commands['build'], folder)}"
    largest = max(site.iterdir(), key=lambda page: page.stat().st_size)
    yield f"largest of {len(list(site.iterdir()))} pages: {largest.name}, {largest.stat().st_size / 1e6:.2f} MB"


def _of_plan(folder: Path, count: int) -> str:
    from benchmarks.many_sets import plan_of, write_package

    plan = plan_of(count)
    write_package(folder)
    arguments = ["-c", DRY_RUN, *plan.options, "--dry-run", "--devices", "cpu", "--out", str(folder / "results")]
    cost = _of_command(arguments, folder, folder, BENCH_CALIBRATION_DIR=str(folder / "calibrations"))
    return f"plan of {plan.n_cells} cells ({plan.methods} methods, {plan.datasets} data sets): {cost}"


def _write(folder: Path, count: int, how: str) -> None:
    """Write made-up rows in a separate process, so that its memory is not measured."""
    command = [sys.executable, "-c", WRITE, str(folder), str(count), how]
    subprocess.run(command, env=os.environ | _path_with(ROOT), check=True)


def _path_with(*folders: Path) -> dict[str, str]:
    """Return the environment variable by which Python finds modules in `folders` too."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, [*map(str, folders), os.getenv("PYTHONPATH")]))}


def _of_command(arguments: list[str], folder: Path, *packages: Path, **variables: str) -> str:
    """Return the time and memory that a Python process takes to run `arguments`.

    Args:
        arguments: arguments of Python.
        folder: folder for caches, which are removed with it.
        packages: folders of further packages.
        variables: further environment variables.
    """
    own_cache = os.environ | _path_with(ROOT, *packages) | {"BENCH_ROWS_CACHE": str(folder / "cache")} | variables
    started = time.perf_counter()
    with (folder / "printed").open("wb") as printed:
        _, status, used = os.wait4(subprocess.Popen([sys.executable, *arguments], stdout=printed, env=own_cache).pid, 0)
    if status:
        raise RuntimeError(f"`{' '.join(arguments)}` failed")
    seconds, computing = time.perf_counter() - started, used.ru_utime + used.ru_stime
    return f"{seconds:.1f} s, {computing:.1f} s of computing, {used.ru_maxrss / 1024:.0f} MiB at most"


if __name__ == "__main__":
    app()
