"""Overhead of the benchmark, its time besides training: `python -m bench.overhead`.

    python -m bench.overhead --jobs 1000        # time that workers wait, and computing time of the main process
    python -m bench.overhead --scan 10000       # time in which a resumed run reads the finished cells
    python -m bench.overhead --rows 100000      # computing time and memory of commands on that many published rows

The cells of the first measurement are as small as possible: one trial of MAP, a few minibatches. The other measurements
write their cells themselves, without training (`bench.costs.many_rows`).
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

from bench.costs.trivial import trivial_cells
from bench.experiment.cells import Cell

WRITE = """
import sys
from pathlib import Path
from bench.costs.many_rows import size_of, write_published
write_published(Path(sys.argv[1]), size_of(int(sys.argv[2])))
"""
RESUME = """
import sys
from pathlib import Path
from bench.results.folder import Results
results = Results(Path(sys.argv[1]))
results.mend()
results.rows()
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    jobs: Annotated[int, typer.Option(help="Trivial cells to run, one per job.", min=0)] = 0,
    scan: Annotated[int, typer.Option(help="Finished cells that a resumed run reads.", min=0)] = 0,
    rows: Annotated[int, typer.Option(help="Published rows that pages and tables are made of.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes that run the jobs.", min=1)] = 2,
) -> None:
    """Measure the overhead of the benchmark: its time besides training."""
    if not jobs and not scan and not rows:
        raise typer.BadParameter("nothing to measure; give --jobs 1000, --scan 10000, --rows 100000 or several")
    with TemporaryDirectory() as folder:
        if jobs:
            typer.echo(_of_jobs(Path(folder) / "jobs", jobs, workers))
        if scan:
            typer.echo(_of_scan(Path(folder) / "scan", scan))
        if rows:
            for line in _of_commands(Path(folder) / "rows", rows):
                typer.echo(line)


def _of_jobs(folder: Path, count: int, workers: int) -> str:
    from bench.execution.scheduler import run_jobs
    from bench.execution.workers import workers_on
    from bench.experiment.jobs import Job
    from bench.results.folder import Results

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


def _of_scan(folder: Path, count: int) -> str:
    import pyarrow.parquet as pq

    from bench.execution.run import result_of_lost_process
    from bench.results.record import Outcome

    cells = trivial_cells(count)
    outcome = Outcome(status="failed", error="made up")
    for cell in cells:
        path = folder / "cells" / f"{cell.key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        table = result_of_lost_process(cell, "cpu", outcome, 0.0).to_table()
        pq.write_table(table, path, use_dictionary=False, write_statistics=False)
    first, then = (_time_to_read(folder, cells) for _ in range(2))
    return f"{count} finished cells: {then} to read; the first time, without an index, {first}"


def _of_commands(folder: Path, count: int) -> Iterator[str]:
    """Yield what each command takes on a folder of published rows, in a process of its own."""
    from bench.costs.many_rows import PRESET, SUITE, size_of

    size, site = size_of(count), folder / "site"
    subprocess.run([sys.executable, "-c", WRITE, str(folder), str(count)], check=True)  # its memory stays out of ours
    yield f"{size.n_rows} rows: {size.methods} methods, {size.datasets} data sets, {size.splits} splits"
    rank = ["rank", str(folder), "--suite", SUITE, "--preset", PRESET, "--metric", "nmll"]
    pages = [["build", str(folder), "--html", str(site)], ["export", str(folder)], rank]
    commands = {arguments[0]: ["-m", "leaderboards", *arguments] for arguments in pages}
    for name, arguments in ({"resume": ["-c", RESUME, str(folder)]} | commands).items():
        command = [sys.executable, *arguments]
        with (folder / "printed").open("wb") as printed:
            _, status, used = os.wait4(subprocess.Popen(command, stdout=printed).pid, 0)
        if status:
            raise RuntimeError(f"`{' '.join(command[1:])}` failed")
        seconds = used.ru_utime + used.ru_stime
        yield f"{name}: {seconds:.1f} s of computing, {used.ru_maxrss / 1024:.0f} MiB at most"
    largest = max(site.iterdir(), key=lambda page: page.stat().st_size)
    yield f"largest of {len(list(site.iterdir()))} pages: {largest.name}, {largest.stat().st_size / 1e6:.2f} MB"


def _time_to_read(folder: Path, cells: list[Cell]) -> str:
    from bench.results.folder import Results

    started, computing = time.perf_counter(), time.process_time()
    results = Results(folder)
    results.mend()
    if not all(map(results.has, cells)):
        raise RuntimeError("the results folder does not list all cells that were written to it")
    return f"{time.perf_counter() - started:.2f} s ({time.process_time() - computing:.2f} s of computing)"


if __name__ == "__main__":
    app()
