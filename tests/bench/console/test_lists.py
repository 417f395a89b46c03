"""`--list` is an index, `--list SUITE` has the detail, and no name to be typed is cut."""

import io

import pytest

from lockstep_bench import methods
from lockstep_bench.bench.console import lists
from lockstep_bench.bench.console.display import CommandConsole
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.shared.papers.entries import entries


@pytest.fixture
def printed(monkeypatch, tmp_path):
    def show(suite):
        console = CommandConsole(file=io.StringIO(), width=80)
        monkeypatch.setattr(lists, "out", console)
        lists.show(suite, tmp_path)
        return console.file.getvalue().splitlines()

    return show


def test_index_names_suites_and_default_methods_on_one_screen(printed):
    lines = printed(None)
    assert len(lines) < 50
    words = set(" ".join(lines).replace(",", " ").split())
    assert words >= {*SUITES, "papers", *methods.headline()}


@pytest.mark.parametrize("suite", ["uci", "uci-gap", "uci-gp", "keel"])
def test_suite_lists_every_data_set_uncut(printed, suite):
    lines = printed(suite)
    assert {line.split()[0] for line in lines if line.strip()} >= {*SUITES[suite].datasets(), *SUITES[suite].presets}
    assert "…" not in "".join(lines)
    assert "Not on this machine" in " ".join(lines)


def test_splits_are_counted_without_flagged_ones(printed):
    (line,) = (line for line in printed("uci-gap") if line.startswith("boston-gap"))
    assert line.split()[-3:] == ["8", "of", "13"]


def test_papers_list_every_entry_uncut(printed):
    lines = printed("papers")
    assert {line.split()[0] for line in lines if line.strip()} >= {entry.name for entry in entries()}


def test_unknown_suite_suggests_a_near_one(printed):
    with pytest.raises(InvalidRequest, match="did you mean 'uci'"):
        printed("ucii")


def test_flagged_splits_are_explained(printed):
    assert "N of M splits: presets leave out the others" in " ".join(printed("uci-gp"))
    assert "N of M" not in " ".join(printed("uci"))
