"""Console output has no control characters, which could steer the terminal, and cuts very long values."""

import io

from rich.markup import escape
from rich.table import Table

from lockstep_bench.bench.console.display import CommandConsole, show_error, show_plan
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol


def test_terminal_escape_sequences_are_printed_as_text():
    console = CommandConsole(file=io.StringIO(), force_terminal=False, width=200)
    hostile = "\x1b]0;title\x07\ud800"
    table = Table(box=None)
    table.add_column("name")
    table.add_row(escape(hostile))
    console.print(f"[red]Error:[/] {escape(hostile)}", soft_wrap=True)
    console.print(table)
    written = console.file.getvalue()
    assert written.count("\\u001b]0;title\\u0007\\ud800") == 2
    assert "\x1b" not in written


def test_long_values_in_errors_are_cut(capsys):
    show_error(f"lr is {'9' * 5_000}; give a number")
    shown = capsys.readouterr().err
    assert "lr is 9999" in shown
    assert "give a number" in shown
    assert len(shown) < 400


def test_plan_says_where_the_likelihood_changes_nothing(capsys):
    cells = [
        Cell("uci", name, "map", 0, "quick-modified", Protocol(likelihood="student-t"), 0) for name in ("yacht", "wdbc")
    ]
    show_plan(cells, cells, [])
    assert "The likelihood student-t is of regressions; it changes nothing on wdbc\n" in capsys.readouterr().out
