"""Replications as text and CSV, and the command that prints them."""

import csv
import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.data import replicated
from lockstep_bench.leaderboards.replications.comparison import replications
from lockstep_bench.leaderboards.replications.report import COLUMNS, frame, show
from lockstep_bench.shared.papers import entries as registry

NAME = "made-up-table-1"


@pytest.fixture
def rows():
    """Rows of vifa and map on three splits of energy; vifa's mean is 2.1."""
    values = {"vifa": (2.0, 2.1, 2.2), "map": (3.0, 3.2, 3.1)}
    return [
        {"preset": NAME, "method": method, "split": split, "nmll": value}
        for method, of_method in values.items()
        for split, value in zip((0, 1, 4), of_method, strict=True)
    ]


@pytest.fixture
def made(cells, rows, published, entry):
    """The entry with a number that agrees, one that differs, and one without rows; and an entry that was not run."""
    numbers = published({}, {"method": "map", "value": 9.0}, {"dataset": "wine"})
    other = entry(name="other", table="Table 2", runs=(), claims=(), unavailable="40 hours of a GPU")
    return replications(cells(*rows), numbers, [entry(), other])


def test_report_table_lists_entries_numbers_and_claims(made):
    table = frame(made)
    assert list(table.columns) == COLUMNS
    kinds = table.groupby("entry")["kind"].agg(list).to_dict()
    assert kinds == {NAME: ["entry", *["number"] * 3, *["claim"] * 2], "other": ["entry"]}
    assert table["verdict"].tolist() == [
        "differs in 1 of 2; claims: 1 holds; 4 runs not complete",
        *("agrees", "differs", "not compared"),
        *("holds", "not run"),
        "not run here",
    ]
    number = table.iloc[1]
    assert (number["published"], number["measured"], number["measured_n"]) == pytest.approx((2.0, 2.1, 3))


def test_report_shows_single_numbers_on_request(made):
    console = Console(file=io.StringIO(), width=160)
    show(made, console, details=True)
    said = console.file.getvalue()
    assert "differs in 1 of 2; claims: 1 holds; 4 runs not complete" in said
    assert "2.100 ± 0.058 (n = 3)" in said
    assert "Not compared: 1 number, not run: wine vifa NMLL." in said
    assert "energy: holds: 2.100 against 3.100, difference −1.000 ± 0.067" in said
    brief = Console(file=io.StringIO(), width=160)
    show(made, brief, details=False)
    assert "wine" not in brief.file.getvalue()


@pytest.fixture
def command(folder, rows, entry, monkeypatch):
    """Run a command of the leaderboards on a folder that has rows of the entry and of another preset."""
    monkeypatch.setattr(registry, "entries", lambda: (entry(),))
    monkeypatch.setattr(replicated, "entries", lambda: (entry(),))
    out = folder(*rows, {"preset": "paper", "method": "vifa", "nmll": 1.0})
    return lambda name, *words: CliRunner().invoke(app, [name, str(out), *words])


def test_replications_command_prints_each_format(command):
    assert NAME in command("replications").stdout
    lines = list(csv.DictReader(io.StringIO(command("replications", "--format", "csv").stdout)))
    assert [line["kind"] for line in lines] == ["entry", "claim", "claim"]


def test_replications_command_refuses_unknown_entries(command):
    result = command("replications", "--entry", "made-up-table-2")
    assert result.exit_code == 2
    assert f"'made-up-table-2' is unknown; did you mean '{NAME}'?" in result.stderr


def test_export_includes_replication_rows_only_by_name(command):
    def presets(*words: str) -> set[str]:
        return {line["preset"] for line in csv.DictReader(io.StringIO(command("export", *words).stdout))}

    assert presets() == {"paper"}
    assert presets("--preset", NAME) == {NAME}
