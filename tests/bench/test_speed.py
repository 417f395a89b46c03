"""The benchmark command prints what was promised; how fast anything is, is not tested."""

import csv
import io

import pytest
from typer.testing import CliRunner

from bench import speed


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(speed, "MIN_UPDATES", 2)
    monkeypatch.setattr(speed, "MAX_UPDATES", 2)
    monkeypatch.setattr(speed, "REPEATS", 1)


def test_csv_has_a_row_per_method_and_stack_with_its_ratio():
    result = CliRunner().invoke(speed.app, ["--methods", "map,deep-ensemble", "--stack", "5,10", "--format", "csv"])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["method"], row["stack"]) for row in rows] == [
        ("map", "5"),
        ("map", "10"),
        ("deep-ensemble", "5"),
        ("deep-ensemble", "10"),
    ]
    for row in rows:
        assert float(row["ratio"]) == pytest.approx(float(row["alone_us"]) / float(row["stacked_us"]), rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--methods", "mapp"], "did you mean 'map'"), (["--stack", "0"], "at least 1"), (["--stack", "x"], "invalid")],
)
def test_bad_options_are_refused(arguments, complaint):
    result = CliRunner().invoke(speed.app, arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
