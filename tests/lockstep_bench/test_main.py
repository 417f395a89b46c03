"""One command for all: `lockstep-bench`, also as `python -m lockstep_bench`."""

import subprocess
import sys
from importlib import import_module

import pytest
from typer.testing import CliRunner

from lockstep_bench.__main__ import COMMANDS, app
from lockstep_bench.bench.console import display


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_its_help(name):
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert "Usage" in shown.output


def test_help_names_commands_without_importing_them():
    code = (
        "import sys; sys.argv = ['lockstep-bench', '--help']; from lockstep_bench.__main__ import app\n"
        "try: app()\nexcept SystemExit: pass\n"
        "ours = {f'lockstep_bench.{name}' for name in ('run', 'datasets', 'leaderboards')}\n"
        "assert not {'torch', 'pandas', *ours} & sys.modules.keys()"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert all(name in shown for name in COMMANDS)


def test_unknown_command_is_refused():
    shown = CliRunner().invoke(app, ["rn"])
    assert shown.exit_code == 2
    assert "No such command 'rn'" in shown.output


def test_arguments_are_passed_on_to_the_command():
    shown = CliRunner().invoke(app, ["datasets", "verify", "yatch"])
    assert shown.exit_code == 2
    assert "did you mean 'yacht'?" in shown.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_options_before_and_after_arguments_are_forwarded(monkeypatch, name):
    called = []
    monkeypatch.setattr(
        import_module(COMMANDS[name][0]), "app", lambda words, prog_name: called.append((words, prog_name))
    )
    CliRunner().invoke(app, [name, "--one", "two", "-3", "--help"], catch_exceptions=False)
    assert called == [(["--one", "two", "-3", "--help"], f"lockstep-bench {name}")]


@pytest.mark.parametrize(
    ("called", "printed"),
    [("lockstep-bench", "lockstep-bench datasets fetch x"), ("run_all.py", "python -m datasets fetch x")],
)
def test_messages_name_commands_as_the_user_typed_them(monkeypatch, capsys, called, printed):
    monkeypatch.setattr(sys, "argv", [called])
    display.CommandConsole(width=100).print("run `python -m datasets fetch x`")
    assert printed in capsys.readouterr().out
