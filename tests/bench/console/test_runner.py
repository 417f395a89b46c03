"""Output printed while cells run."""

import dataclasses
import errno
import io
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from lockstep_bench.bench.console import display, runner
from lockstep_bench.bench.console.runner import ProgressBoard
from lockstep_bench.bench.execution import scheduler
from lockstep_bench.bench.execution.workers import workers_on
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import JobProgress
from lockstep_bench.bench.results.record import CellResult, Outcome, Provenance
from lockstep_bench.bench.results.storage import NotStored
from lockstep_bench.shared.protocol import Protocol

CELLS = [Cell("toy", "toy", "map", split, "tiny", Protocol(), 0) for split in range(4)]
WORK = CELLS[0].work
PAIR, OTHER, LAST = (Job(tuple(cells), (), None) for cells in (CELLS[:2], CELLS[2:3], CELLS[3:]))
FAILED = {"status": "failed", "error": "Traceback\nValueError: it [broke]"}


def result(cell: Cell, **outcome) -> CellResult:
    provenance = Provenance.now("cpu")
    return CellResult(cell=cell, outcome=Outcome(**outcome), provenance=provenance, elapsed_seconds=1.0)


@pytest.fixture
def progress():
    shown = Console(file=io.StringIO(), force_terminal=False, width=300)
    with Progress(TextColumn("{task.description} {task.fields[done]}/{task.fields[cells]}"), console=shown) as made:
        yield made


@pytest.fixture
def board(progress):
    return ProgressBoard(progress, [PAIR, OTHER, LAST])


def completed(progress: Progress) -> float:
    return progress.tasks[0].completed / WORK


def text(progress: Progress) -> str:
    return progress.console.file.getvalue()


def test_progress_bar_counts_finished_and_partial_cells(progress, board):
    assert progress.tasks[0].total == pytest.approx(4 * WORK)
    board.on_progress(PAIR, JobProgress(0.5))
    board.on_progress(OTHER, JobProgress(0.25))
    assert completed(progress) == pytest.approx(1.25)
    board.finished(result(CELLS[2], status="ok", metrics={"nmll": 1.5}))
    assert completed(progress) == pytest.approx(2)
    board.on_retry(result(CELLS[0], **FAILED))  # the pair is over
    assert completed(progress) == pytest.approx(1)
    board.finished(result(CELLS[1], status="ok", metrics={"nmll": 2.5}))
    assert completed(progress) == pytest.approx(2)
    assert progress.tasks[0].fields["done"] == 2


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_bar_shows_sampling_of_the_reference_posterior(terminal):
    shown = Console(file=io.StringIO(), force_terminal=terminal, width=300)
    with Progress(TextColumn("{task.description}"), console=shown) as progress:
        board = ProgressBoard(progress, [PAIR])
        board.on_progress(PAIR, JobProgress(0.25, "sampling the reference", 0.4))
        board.on_progress(PAIR, JobProgress(0.25, "sampling the reference", 0.5))
        assert completed(progress) == pytest.approx(0.5)
    assert "sampling the reference: 50%" in shown.file.getvalue()
    assert terminal or shown.file.getvalue().count("sampling the reference\n") == 1


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_bar_is_refreshed_only_in_a_terminal(terminal, monkeypatch):
    class Store:
        def write(self, stored):
            running.extend(type(thread).__name__ for thread in threading.enumerate())

    running: list[str] = []
    done = result(CELLS[3], status="ok", metrics={"nmll": 1.5})
    monkeypatch.setattr(runner, "err", Console(file=io.StringIO(), force_terminal=terminal))
    monkeypatch.setattr(runner, "run_jobs", lambda *_, **options: (each for each in [done]))
    runner.run(Store(), [LAST], workers_on(("cpu",), 1))
    assert ("_RefreshThread" in running) == terminal


def test_note_on_slow_training_is_printed_once_per_reason(progress, board, monkeypatch, capsys):
    monkeypatch.setattr(display, "err", display.CommandConsole(file=sys.stderr))
    slow = {"status": "ok", "metrics": {"nmll": 1.5}}
    for cell, reason in zip(CELLS, ["the disk is full", "the disk is full", "other", None], strict=True):
        log = reason and f"not trained natively: {reason}"
        board.finished(dataclasses.replace(result(cell, **slow), log=log))
    told = capsys.readouterr().err
    assert told.count("Note: ") == 2
    assert f"The disk is full. Without compiled loops, cells (first: {CELLS[0].key}) take five to nine times" in told
    assert f"Other. Without compiled loops, cells (first: {CELLS[2].key})" in told


def test_note_on_a_missing_compiler_is_not_repeated(progress, monkeypatch, capsys):
    monkeypatch.setattr(display, "err", display.CommandConsole(file=sys.stderr))
    reason = "no C++ compiler was found; looked for g++\udcff"  # rows spell out what cannot be encoded
    slow_fits = display.SlowFits()
    slow_fits.show(reason)
    board = ProgressBoard(progress, [PAIR], slow_fits=slow_fits)
    done = result(CELLS[0], status="ok", metrics={"nmll": 1.5})
    board.finished(dataclasses.replace(done, log=f"not trained natively: {reason}"))
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("No C++ compiler was found; looked for g++\\udcff. Without compiled loops, cells take five") == 1
    assert told.count("Note:") == 1


def test_note_on_slow_training_includes_failed_cells(board, monkeypatch, capsys):
    monkeypatch.setattr(display, "err", display.CommandConsole(file=sys.stderr))
    log = "my words\nnot trained natively: no C++ compiler was found\nsaid: not trained natively: so"
    board.finished(dataclasses.replace(result(CELLS[0], **FAILED), log=log))
    assert capsys.readouterr().err.count("Without compiled loops") == 1


def test_failed_cell_prints_one_line_with_reason(progress, board):
    board.on_retry(result(CELLS[0], **FAILED))
    board.finished(result(CELLS[0], **FAILED))
    first, second = [line for line in text(progress).splitlines() if "broke" in line]
    assert first == f"failed {CELLS[0].key}: ValueError: it [broke] (will be retried alone, at the end)"
    assert second == f"failed {CELLS[0].key}: ValueError: it [broke]"


def test_interrupt_message_names_running_and_dropped_jobs(progress, board):
    board.on_progress(PAIR, JobProgress(0.0))
    board.on_progress(OTHER, JobProgress(0.0))
    board.interrupted()
    board.finished(result(CELLS[2], status="ok", metrics={"nmll": 1.5}))
    board.ended(dropped=True)
    said = text(progress)
    assert "finishing what runs: toy map splits 0, 1, toy map split 2. Ctrl-C again drops it." in said
    assert "dropped toy map splits 0, 1. 1 of 4 cells finished; the same command goes on from here." in said


def test_long_error_is_cut_to_a_short_line(progress, board):
    board.finished(result(CELLS[0], status="failed", error="ValueError: " + "x" * 1_000_000))
    assert len(text(progress)) < 1000


def test_failure_without_a_message_prints_its_status(progress, board):
    board.finished(result(CELLS[0], status="failed", error=" \n"))
    assert f"failed {CELLS[0].key}" in text(progress)


def test_exception_group_prints_its_last_exception(progress, board):
    group = ExceptionGroup("several", [KeyError("a"), ValueError("x is 3")])
    board.finished(result(CELLS[0], status="failed", error="".join(traceback.format_exception(group))))
    assert f"failed {CELLS[0].key}: ValueError: x is 3\n" in text(progress)


class FragileStore:
    """Destination of cells that cannot store some of them, for a reason of their own or of the disk."""

    def __init__(self, refused, problem: Exception):
        self.stored: dict[Cell, CellResult] = {}
        self._refused, self._problem = refused, problem

    def write(self, result: CellResult) -> None:
        if self._refused(result):
            raise self._problem
        self.stored[result.cell] = result


@pytest.fixture
def run_pair(monkeypatch):
    """Runs two cells that are "ok" and stores them in the given store."""

    def jobs_end(*_, **__) -> Iterator[CellResult]:
        yield from (result(cell, status="ok", metrics={"nmll": 1.0}) for cell in CELLS[:2])

    def run_pair(store: FragileStore) -> bool:
        monkeypatch.setattr(runner, "run_jobs", jobs_end)
        return runner.run(store, [PAIR], [])

    return run_pair


def test_result_that_cannot_be_stored_becomes_a_failed_row(run_pair):
    store = FragileStore(lambda row: row.cell == CELLS[0] and row.status == "ok", UnicodeError("no such character"))
    assert run_pair(store) is False
    assert [store.stored[cell].status for cell in CELLS[:2]] == ["failed", "ok"]
    failed = store.stored[CELLS[0]].outcome
    assert failed.error_class == "UnicodeError"
    assert failed.error == "the result cannot be stored: UnicodeError: no such character"


def test_run_continues_if_even_the_failure_cannot_be_stored(run_pair):
    store = FragileStore(lambda row: row.cell == CELLS[0], ValueError("never"))
    assert run_pair(store) is False
    assert list(store.stored) == [CELLS[1]]


def test_full_disk_ends_the_run(run_pair):
    with pytest.raises(NotStored):
        run_pair(FragileStore(lambda row: True, OSError(28, "No space left on device")))


class SlowStore:
    """Lets the first of several cells wait for the others, and cannot store the cell of the split `refused`."""

    def __init__(self, together: int, refused: int | None = None):
        self.meeting, self.refused, self.written = threading.Barrier(together), refused, []

    def write(self, result):
        self.meeting.wait(60)
        if result.cell.split == self.refused:
            raise OSError(errno.ENOSPC, "No space left on device", "results")
        self.written.append(result.cell)


def instant(job, worker, pool, timeout, on_progress):
    return [result(cell, status="ok", metrics={"nmll": 1.0}) for cell in job.cells]


def test_cells_are_stored_at_the_same_time_and_shown_in_order(monkeypatch, capsys):
    monkeypatch.setattr(scheduler, "run_on_worker", instant)
    monkeypatch.setattr(runner, "err", Console(file=sys.stderr, width=300))
    store = SlowStore(together=len(CELLS))
    assert (
        runner.run(store, [Job(tuple(CELLS), (Path("no study"),) * len(CELLS), None)], workers_on(["cpu"], 1)) is False
    )
    assert set(store.written) == set(CELLS)
    shown = [line.split(":")[0] for line in capsys.readouterr().err.splitlines() if "nmll" in line]
    assert shown == [cell.key for cell in CELLS]


def test_cell_that_cannot_be_stored_ends_the_run(monkeypatch):
    monkeypatch.setattr(scheduler, "run_on_worker", instant)
    store = SlowStore(together=2, refused=1)
    with pytest.raises(NotStored) as raised:
        runner.run(store, [Job(tuple(CELLS[:2]), (Path("no study"),) * 2, None)], workers_on(["cpu"], 1))
    assert raised.value.cells == (CELLS[1],)
    assert CELLS[0] in store.written
