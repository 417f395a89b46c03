"""No character ends a command, whatever the encoding of its output, and limits of the system are said in words."""

import os
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from documents.commands import given_to
from typer.testing import CliRunner

from lockstep_bench.shared.door import Door
from lockstep_bench.__main__ import COMMANDS

ROOT = Path(__file__).parents[3]
OTHERS = ("lockstep_bench.__main__", "benchmarks.speed", "benchmarks.overhead", "benchmarks.stream_memory")
DOORS = (*(module for module, _ in COMMANDS.values()), *OTHERS)


@pytest.mark.parametrize("module", DOORS)
def test_every_command_uses_the_shared_entry_class(module):
    assert isinstance(import_module(module).app, Door)


@pytest.mark.parametrize("module", DOORS)
def test_examples_of_the_help_are_commands_that_parse(module):
    app = import_module(module).app
    for command in app.registered_commands:
        for example in (command.epilog or "").split("\n\n")[1:]:
            words = shlex.split(example)
            given_to(app, words[3 if words[1] == "-m" else 2 :])  # raises what the command line would refuse


def printed(folder: Path, encoding: str, *command: str) -> tuple[int, str]:
    """Return the exit code and the output of a command that runs in a folder with an encoding."""
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode(encoding, errors="replace")


@pytest.fixture
def table(tmp_path) -> str:
    """Name of a table whose file and columns have letters of many scripts."""
    area = np.linspace(1, 2, 40)
    frame = pd.DataFrame({"Fläche": area, "市": np.resize(["東京", "Łódź"], 40), "цена": area**2})
    frame.to_csv(tmp_path / "häuser ☃.csv", index=False)
    return "häuser ☃.csv"


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_runs_work_in_terminals_of_any_encoding(tmp_path, table, encoding):
    options = ("--methods", "constant", "--splits", "0", "--workers", "1", "--out", "résultats ☃")
    code, output = printed(tmp_path, encoding, str(ROOT / "run_all.py"), "--csv", table, "--target", "цена", *options)
    assert code == 0, output
    assert r"\u0446\u0435\u043d\u0430" in output


@pytest.mark.parametrize(
    "command",
    [
        ("lockstep_bench.datasets", "new", "houses", "--csv", "häuser ☃.csv", "--target", "цена", "--into", "пакет"),
        ("lockstep_bench.methods", "new", "mine", "--into", "метод"),
        ("lockstep_bench.datasets", "list"),
        ("lockstep_bench.methods", "list"),
        ("lockstep_bench.leaderboards", "rank", "--help"),
        ("lockstep_bench.leaderboards", "edges", "--help"),
        ("lockstep_bench", "run", "--list"),
    ],
)
def test_commands_work_in_an_ascii_terminal(tmp_path, table, command):
    code, output = printed(tmp_path, "ascii", "-m", *command)
    assert code == 0, output


def test_end_of_a_command_searches_no_imported_modules_for_cycles(tmp_path):
    after = "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0))"  # the first registered runs last
    code = f"import atexit, gc; {after}; from lockstep_bench.__main__ import app; app(['--version'])"
    returned, output = printed(tmp_path, "utf-8", "-c", code)
    assert returned == 0, output
    assert "frozen True" in output


def limited(limit: str, *command: str) -> tuple[int, str]:
    """Return the exit code and the output of a command under a limit of `ulimit`."""
    line = f'ulimit {limit}; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", line, "-", sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limits")
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("-n 8", "no more files open (the limit is 8); allow more of them"),
        ("-v 150000", "there is no memory left (the limit is 146 MiB); allow more"),
    ],
)
def test_exceeded_system_limit_is_reported_without_traceback(tmp_path, limit, words):
    options = ("--datasets", "diabetes", "--methods", "constant", "--splits", "0", "--workers", "1")
    code, output = limited(limit, "run_all.py", *options, "--out", str(tmp_path / "results"))
    assert code != 0
    assert words in output
    assert "Traceback" not in output


@pytest.mark.parametrize("module", [module for module, _ in COMMANDS.values()])
def test_help_of_each_command_has_examples_and_fits_80_columns(module):
    app = import_module(module).app
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for words in ([], *([name] for name in names if len(names) > 1)):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).stdout
        assert "For example:" in shown, words
        assert "<bool>" not in shown
        assert max(map(len, shown.splitlines())) <= 80


def test_help_wraps_paragraphs_of_docstrings():
    app = Door()

    @app.command()
    def measure() -> None:
        """Measure.

        A line that ends
        early.
        """

    assert "A line that ends early." in CliRunner().invoke(app, ["--help"]).stdout
