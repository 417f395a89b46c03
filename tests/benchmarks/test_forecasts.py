"""Forecasts are compared with jobs that run; how near they are is never asserted."""

import re

import pytest
from typer.testing import CliRunner

from benchmarks.forecasts import app


@pytest.mark.slow
def test_forecast_of_a_job_is_printed_beside_its_time():
    done = CliRunner().invoke(app, ["--datasets", "diabetes", "--methods", "map"])
    assert done.exit_code == 0, done.output
    assert re.search(r"^\| diabetes \| `map` \| 1 (\| \d+\.\d\d ){3}\| probe \| ok \|$", done.output, re.MULTILINE)
