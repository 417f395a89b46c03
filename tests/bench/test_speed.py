"""The benchmark command prints what was promised; how fast anything is, is not tested."""

import csv
import io
import sys

import pytest
from typer.testing import CliRunner

from bench import speed
from bench.engine import timing
from bench.environment import process


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(timing, "UPDATES_AT_ONCE", 2)
    monkeypatch.setattr(timing, "MODEL_STEPS", 0)
    monkeypatch.setattr(timing, "BLOCKS_ALONE", 1)
    monkeypatch.setattr(speed, "REPEATS", 1)
    monkeypatch.setattr(speed, "ROUNDS", 1)
    # These change how this process returns memory, and its cores.
    monkeypatch.setattr(process, "settle", lambda threads: None)
    monkeypatch.setattr(process, "pin", lambda cores: None)
    monkeypatch.setenv("XLA_FLAGS", "")


def test_csv_has_rows_per_method_and_stack():
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


def test_jax_is_compared_for_every_loop():
    loops = pytest.importorskip("bench.costs.jax_loops", exc_type=ImportError).LOOPS
    assert tuple(loops) == speed.IN_JAX
    result = CliRunner().invoke(speed.app, ["--against", "jax", "--stack", "2", "--format", "csv"])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["method"], row["stack"]) for row in rows] == [(name, "2") for name in loops]
    for row in rows:
        assert float(row["ratio"]) == pytest.approx(float(row["stacked_us"]) / float(row["jax_us"]), rel=0.02)


def test_missing_jax_is_said(monkeypatch):
    monkeypatch.delitem(sys.modules, "bench.costs.jax_loops", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    result = CliRunner().invoke(speed.app, ["--against", "jax"])
    assert result.exit_code == 2
    assert "[reference]" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--methods", "mapp"], "did you mean 'map'"),
        (["--stack", "0"], "at least 1"),
        (["--stack", "x"], "invalid"),
        (["--network", "resnet"], "resnet18"),
        (["--network", "resnet18", "--execution", "eager"], "leave out"),
        (["--network", "resnet18", "--against", "jax"], "leave out"),
        (["--execution", "fast"], "must be one of"),
        (["--against", "numpy"], "must be jax"),
        (["--against", "jax", "--threads", "2"], "one thread"),
        (["--against", "jax", "--methods", "slang"], "map, mfvi, vifa, swag"),
        (["--network", "resnet18", "--stack", "5"], "leave out"),
        (["--batch-size", "32"], "--network"),
    ],
)
def test_bad_options_are_refused(arguments, complaint):
    result = CliRunner().invoke(speed.app, arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_large_networks_are_compared_with_sgd_and_papers():
    arguments = ["--network", "cnn", "--batch-size", "4", "--methods", "map,mfvi,hmc", "--format", "csv"]
    result = CliRunner().invoke(speed.app, arguments)
    assert result.exit_code == 0, result.output
    sgd, *rows = csv.DictReader(io.StringIO(result.stdout))
    assert (sgd["method"], sgd["ratio"], sgd["state"], sgd["optimiser"]) == ("plain SGD", "1.00", "1.0", "1.0")
    assert [(row["method"], row["state"], row["optimiser"]) for row in rows] == [
        ("map", "1.0", "2.0"),
        ("mfvi", "2.0", "4.0"),
    ]
    assert [row["published"] for row in rows] == ["", "4.32 x SGD, 1.03 x MAP"]
    assert all(float(row["ratio"]) > 0 and float(row["update"]) > 1 for row in rows)
    assert "hmc is left out" in result.stderr
