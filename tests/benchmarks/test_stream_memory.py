"""The command that measures memory: the state is O(D K), and the peak is not O(D^2)."""

import sys

import pytest
from typer.testing import CliRunner

from benchmarks.stream_memory import app, in_new_process, measured

MIB = 2**20


@pytest.mark.parametrize(("name", "per_dimension"), [("online-em-fa", 2 * 4 + 3), ("online-sga-fa", 4 + 2)])
def test_state_memory_is_linear_in_dimension_times_factors(name, per_dimension):
    dim, k = 100_000, 4
    assert measured(name, dim, k).state_mib == pytest.approx(4 * per_dimension * dim / MIB, rel=1e-2)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak of a process")
def test_peak_memory_is_a_few_times_the_state():
    # Two states, and some arrays of the factors' size between them; what the allocator keeps of those that are freed
    # moves it from 3.7 to 4.3 times the state. One D x D matrix would be 230,000 times.
    found = in_new_process("online-em-fa", 2_500_000, 4)
    assert found.state_mib < found.update_mib < 6 * found.state_mib


def test_stream_memory_command_prints_both_estimators(monkeypatch):
    monkeypatch.setattr("benchmarks.stream_memory.in_new_process", measured)
    result = CliRunner().invoke(app, ["--dim", "1000", "--latent", "2"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    assert "D = 1,000, K = 2" in result.stdout
    assert "online-em-fa" in result.stdout
    assert "online-sga-fa" in result.stdout


def test_more_factors_than_dimensions_are_refused():
    result = CliRunner().invoke(app, ["--dim", "3", "--latent", "4"], env={"COLUMNS": "120"})
    assert result.exit_code == 2
    assert "more factors than the 3 dimensions" in result.stderr
