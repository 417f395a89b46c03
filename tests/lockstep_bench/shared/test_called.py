"""Messages name the command that the reader can type: of a checkout, or of the installed package."""

import sys

import pytest

from lockstep_bench.datasets.errors import UnknownDataset
from lockstep_bench.leaderboards.cli.options import stop
from lockstep_bench.methods.catalogue.registry import UnknownMethod
from lockstep_bench.shared.called import as_called


@pytest.fixture
def installed(monkeypatch):
    """The program was called by the command that the wheel installs."""
    monkeypatch.setattr(sys, "argv", ["/usr/bin/lockstep-bench", "run"])


def test_installed_command_names_its_own_subcommands(installed):
    said = as_called("run `python -m methods check a`, `python run_all.py --list` or `python -m leaderboards rank out`")
    assert said == (
        "run `lockstep-bench methods check a`, `lockstep-bench run --list` or `lockstep-bench leaderboards rank out`"
    )


def test_checkout_keeps_its_commands(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run_all.py"])
    assert as_called("`python -m methods list`") == "`python -m methods list`"


def test_unknown_names_point_to_commands_of_the_wheel(installed):
    assert "`lockstep-bench methods list`" in str(UnknownMethod("swga"))
    assert "`lockstep-bench datasets list`" in str(UnknownDataset("yatch", ("yacht",)))


def test_leaderboards_refuse_in_the_words_of_the_wheel(installed, capsys):
    with pytest.raises(BaseException, match="2"):
        stop("no finished cells yet; run `python run_all.py` first")
    assert "run `lockstep-bench run` first" in capsys.readouterr().err
