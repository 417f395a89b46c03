"""Signals end a run with a message and the exit code of a shell."""

import os
import signal
from pathlib import Path

import pytest
import typer

from lockstep_bench.bench.console.endings import stops
from lockstep_bench.bench.console.signals import Terminated, terminating

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGQUIT", 131)])
def test_signal_ends_run_with_its_exit_code(name, code, capsys):
    number = signal.Signals[name]
    before = signal.signal(number, signal.SIG_DFL)  # a shell may have these tests ignore it
    try:
        with pytest.raises(typer.Exit) as ending, stops(Path("results")):
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert ending.value.exit_code == code
    assert f"Stopped: by {name}. What was finished before is kept in results" in capsys.readouterr().err


@posix
def test_second_signal_ends_the_run_at_once():
    with terminating():
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@posix
def test_signal_ignored_before_the_run_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminating():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
