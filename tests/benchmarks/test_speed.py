"""The benchmark command prints what was promised; how fast anything is, is not tested."""

import csv
import io
import sys

import pytest
from typer.testing import CliRunner

from benchmarks import against, arithmetic, speed, torch_loops
from lockstep_bench.bench.engine import timing
from lockstep_bench.bench.environment import process


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for limit in ("SHORT_UPDATES", "MIN_UPDATES", "MAX_UPDATES", "SHORT_ALONE", "ALONE"):
        monkeypatch.setattr(timing, limit, 2)
    monkeypatch.setattr(timing, "SECONDS", 0)
    monkeypatch.setattr(speed, "REPEATS", 1)
    monkeypatch.setattr(against, "ROUNDS", 1)
    # These change how this process returns memory, and its cores.
    monkeypatch.setattr(process, "settle", lambda threads: None)
    monkeypatch.setattr(process, "pin", lambda cores: None)
    monkeypatch.setenv("XLA_FLAGS", "")


def test_speed_csv_has_a_row_per_method_and_stack():
    result = CliRunner().invoke(speed.app, ["--methods", "map,deep-ensemble", "--stack", "5,10", "--format", "csv"])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["method"], row["stack"]) for row in rows] == [
        ("map", "5"),
        ("map", "10"),
        ("deep-ensemble", "5"),
        ("deep-ensemble", "10"),
    ]
    assert all(float(row["alone_us"]) and float(row["stacked_us"]) for row in rows)


def test_speed_ratio_is_unstacked_over_stacked_time(monkeypatch):
    times = {False: iter((30.0, 60.0, 33.0)), True: iter((3.0, 2.0, 9.0))}

    def microseconds(method, n_replicas, execution, device, stacked, fit):
        assert execution == (None if stacked else "eager")
        return next(times[stacked])

    monkeypatch.setattr(timing, "microseconds", microseconds)
    monkeypatch.setattr(speed, "REPEATS", 3)
    result = CliRunner().invoke(speed.app, ["--methods", "map", "--stack", "5", "--format", "csv"])
    assert result.stdout.splitlines()[1:] == ["map,50,10,5,33.00,3.00,11.00,default"]


@pytest.mark.slow
def test_jax_is_compared_for_every_loop():
    loops = pytest.importorskip("benchmarks.jax_loops", exc_type=ImportError).LOOPS
    assert tuple(loops) == against.METHODS["jax"]
    result = CliRunner().invoke(speed.app, ["--against", "jax", "--stack", "2", "--format", "csv"])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["method"], row["stack"]) for row in rows] == [(name, "2") for name in loops]
    assert all(float(row["stacked_us"]) and float(row["jax_us"]) for row in rows)


def test_largest_ratio_to_jax_is_printed(monkeypatch):
    loops = pytest.importorskip("benchmarks.jax_loops", exc_type=ImportError)
    monkeypatch.setattr(loops, "timed_loop", lambda name, stack, fit: lambda: 2.0)
    monkeypatch.setattr(timing.NativeStack, "__init__", lambda self, *sizes: vars(self).update(sizes=sizes))
    monkeypatch.setattr(
        timing.NativeStack, "microseconds", lambda self: float(self.sizes[1] * self.sizes[2].batch_size)
    )
    arguments = ["--against", "jax", "--methods", "map", "--stack", "4,5", "--batch-size", "1,2"]
    result = CliRunner().invoke(speed.app, arguments)
    assert "The largest ratio is 5.00 (method map, hidden 50, batch_size 2, stack 5)." in result.stdout


def test_missing_jax_is_reported(monkeypatch):
    monkeypatch.delitem(sys.modules, "benchmarks.jax_loops", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    result = CliRunner().invoke(speed.app, ["--against", "jax"])
    assert result.exit_code == 2
    assert "[reference]" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--methods", "mapp"], "did you mean 'map'"),
        (["--stack", "0"], "at least 1"),
        (["--stack", "x"], "at least 1"),
        (["--network", "resnet"], "resnet18"),
        (["--network", "resnet18", "--execution", "eager"], "leave out"),
        (["--network", "resnet18", "--against", "jax"], "leave out"),
        (["--execution", "fast"], "must be one of"),
        (["--against", "numpy"], "jax, torch"),
        (["--scaling", "out.svg", "--methods", "map"], "leave out"),
        (["--scaling", "out.txt"], ".svg"),
        (["--scaling", "no-such-folder/out.svg"], "exists"),
        (["--against", "jax", "--threads", "2"], "one thread"),
        (["--against", "jax", "--execution", "eager"], "native loops"),
        (["--against", "jax", "--methods", "slang"], "map, mfvi, vifa, swag"),
        (["--network", "resnet18", "--stack", "5"], "leave out"),
        (["--batch-size", "0"], "at least 1"),
        (["--hidden", "50-x"], "at least 1"),
        (["--network", "resnet18", "--batch-size", "4,8"], "one"),
    ],
)
def test_invalid_speed_options_are_refused(arguments, complaint):
    result = CliRunner().invoke(speed.app, arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_costs_of_large_networks_are_ratios_to_plain_sgd_beside_published_ones():
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


def test_torch_loops_and_ours_are_timed_in_turns(monkeypatch):
    monkeypatch.setattr(torch_loops, "SECONDS", 0)
    arguments = ["--against", "torch", "--methods", "map,mfvi", "--stack", "2", "--format", "csv"]
    rows = list(csv.DictReader(io.StringIO(CliRunner().invoke(speed.app, arguments).stdout)))
    assert [row["method"] for row in rows] == list(torch_loops.LOOPS) == list(against.METHODS["torch"])
    assert all(float(row["stacked_us"]) and float(row["torch_us"]) for row in rows)


def test_share_of_peak_is_operations_per_second_over_those_of_a_matrix_product(monkeypatch):
    monkeypatch.setattr(arithmetic, "peak_speed", lambda: 50.0)  # per nanosecond
    monkeypatch.setattr(timing.NativeStack, "__init__", lambda self, *sizes: None)
    monkeypatch.setattr(timing.NativeStack, "microseconds", lambda self: 2.0)
    monkeypatch.setattr(timing.NativeStack, "work", lambda self: timing.Work(20_000, 1500))
    result = CliRunner().invoke(speed.app, ["--arithmetic", "--methods", "map", "--stack", "4", "--format", "csv"])
    assert result.stdout.splitlines()[1:] == ["map,50,10,4,20000,1.5,2.00,10.0,0.20"]
