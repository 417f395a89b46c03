"""What a person sees while cells run."""

import io
import time

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from bench import console
from bench.cells import Cell
from bench.pack import Job
from bench.progress import Told
from bench.protocol import Protocol


@pytest.mark.parametrize("terminal", [False, True])
def test_what_a_job_does_besides_training_is_told(tmp_path, monkeypatch, terminal):
    cell = Cell("toy", "toy", "map", 0, "tiny", Protocol(), 0)
    job = Job((cell,), (tmp_path / "j.jsonl",), None, "cpu")
    monkeypatch.setattr(console, "POLL_SECONDS", 0.01)
    monkeypatch.setattr("bench.scheduler.told", lambda job: Told(0.25, "sampling the reference", 0.5))
    shown = Console(file=io.StringIO(), force_terminal=terminal, width=200)
    with Progress(TextColumn("{task.description}"), console=shown) as progress:
        bar = progress.add_task("running", total=cell.work)
        with console._polling(progress, bar, {cell: job}):
            time.sleep(0.1)
            assert progress.tasks[bar].completed == pytest.approx(cell.work / 4)
    text = shown.file.getvalue()
    assert "sampling the reference: 50%" in text
    assert terminal or text.count("sampling the reference\n") == 1
