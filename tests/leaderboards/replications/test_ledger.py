"""The ledger of disputed numbers: its rules on made-up numbers, and the kept disputes and their rows."""

import re
from math import isnan, nan, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from documents.commands import problem_with
from documents.evidence import ROWS

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.replications.judgement import UNDECIDED, Estimate
from lockstep_bench.leaderboards.replications.ledger import (
    EXPLAINED,
    NOT_REPRODUCED,
    REPRODUCED,
    STATISTICS,
    Number,
    Reading,
    disputes,
    read,
    settle,
    value_of,
    verdict_on,
)
from lockstep_bench.leaderboards.replications.ledger_text import ledger_line, markdown

DOCUMENT = Path(__file__).parents[3] / "docs" / "ledger.md"
FEWEST = 12  # rows that the ledger was to have
EVERY = pytest.mark.parametrize("dispute", disputes(), ids=lambda dispute: dispute.name)
TWENTY = 20


@pytest.mark.parametrize(
    ("printed", "values", "verdict"),
    [
        (Estimate(2.5, 0.1, 20), [Estimate(2.6, 0.1, 20)], (REPRODUCED, 0)),  # 0.7 joint standard errors
        (Estimate(2.5, 0.1, 20), [Estimate(3.0, 0.1, 20)], (NOT_REPRODUCED, 0)),  # 3.5 of them
        (Estimate(2.5), [Estimate(2.9, nan, 20)], (NOT_REPRODUCED, 0)),  # no spread: 16 % apart
        (Estimate(2.5), [Estimate(2.6, nan, 20)], (REPRODUCED, 0)),  # 4 % apart
        (Estimate(1.0, 0.1, 20), [Estimate(9.0, 7.0, 20)], (UNDECIDED, 0)),
        (Estimate(1.0, 0.1, 20), [Estimate(9.0, 7.0, 20), Estimate(1.1, 0.1, 20)], (EXPLAINED, 1)),
        # Nearer by a factor of 5 explains, of 4 does not.
        (Estimate(3.0), [Estimate(133.0, 1.0, 20), Estimate(2.0, 0.01, 20)], (EXPLAINED, 1)),
        (Estimate(3.0), [Estimate(8.0, 0.1, 20), Estimate(4.25, 0.1, 20)], (NOT_REPRODUCED, 0)),
        # The nearest explanation counts; the first reading is tried before all.
        (Estimate(3.0), [Estimate(99.0, 1, 20), Estimate(4.0, 0.1, 20), Estimate(3.5, 0.1, 20)], (EXPLAINED, 2)),
        (Estimate(3.0, 0.1, 20), [Estimate(3.1, 0.1, 20), Estimate(3.0, 0.1, 20)], (REPRODUCED, 0)),
    ],
)
def test_verdict_follows_from_the_distances_of_the_readings(printed, values, verdict):
    assert verdict_on(printed, values) == verdict


def test_standard_deviation_over_runs_becomes_a_standard_error():
    assert Number(3.28, "", "", 1.0, "sd", 20).estimate.stderr == pytest.approx(1 / sqrt(20))
    assert Number(3.01, "", "", 0.18, "stderr", 20).estimate.stderr == 0.18
    assert isnan(Number(3.01, "", "").estimate.stderr)


@pytest.fixture(scope="module")
def rows():
    """Twenty splits with an RMSE of split + 1, ten test points each, and rows that no reading may take."""
    shared = {"suite": "uci", "preset": "tuned", "dataset": "yacht", "method": "swag"}
    wanted = [
        shared | {"protocol_hash": "abcd", "status": "ok", "rmse": split + 1.0, "n_test": 10} for split in range(TWENTY)
    ]
    others = [{"method": "map"}, {"dataset": "boston"}, {"preset": "quick"}, {"protocol_hash": "ffff"}]
    others += [{"status": "failed"}, {"suite": "toy"}]
    return pd.DataFrame([*wanted, *(wanted[0] | {"rmse": 1e6} | other for other in others)])


@pytest.mark.parametrize(
    ("statistic", "value"),
    [("mean", 10.5), ("median", 10.5), ("min", 1.0), ("sum", 105.0), ("sd", sqrt(35)), ("stderr", sqrt(35 / 20))],
)
def test_statistics_of_readings_equal_their_closed_forms(statistic, value, rows):
    reading = Reading("", "uci", "tuned@ab", "yacht", "swag", "rmse", statistic)
    found = value_of(reading, rows)
    assert (found.value, found.n) == (pytest.approx(value), TWENTY)
    if statistic == "mean":
        assert found.stderr == pytest.approx(np.arange(TWENTY).std(ddof=1) / sqrt(TWENTY))


def test_negated_reading_has_the_other_sign(rows):
    assert value_of(Reading("", "uci", "tuned@ab", "yacht", "swag", "rmse", negated=True), rows).value == -10.5


def test_spread_and_its_kind_are_written_together():
    table = '[[dispute]]\nname = "a"\ntitle = "A"\nabout = ""\ncommand = ""\nreading = []\n'
    for printed in (
        "{value = 1, by = '', source = '', spread = 0.1}",
        "{value = 1, by = '', source = '', kind = 'sd'}",
    ):
        with pytest.raises(ValueError, match="spread"):
            read(f"{table}printed = {printed}")


@pytest.fixture(scope="module")
def settled():
    return settle(disputes(), read_results(ROWS).cells)


def test_every_dispute_has_its_kept_rows(settled):
    assert [one.dispute for one in settled] == list(disputes())
    assert all(value.n >= 1 for one in settled for value in one.estimates)


def test_ledger_decides_at_least_twelve_disputes(settled):
    assert sum(one.verdict != UNDECIDED for one in settled) >= FEWEST


def test_dispute_of_unknown_rows_is_left_out(settled):
    cells = read_results(ROWS).cells
    assert not settle(disputes(), cells[cells["suite"] == "toy"])


@EVERY
def test_every_number_of_a_dispute_has_a_source(dispute):
    for number in (dispute.printed, *dispute.found):
        assert number.by, number
        assert re.match(r"https://|\w+\.md$", number.source), number


@EVERY
def test_readings_are_of_known_statistics_and_different(dispute):
    assert {reading.statistic for reading in dispute.readings} <= set(STATISTICS)
    assert len(set(dispute.readings)) == len(dispute.readings)


@EVERY
def test_command_of_a_dispute_is_valid(dispute):
    assert not problem_with(dispute.command)


def test_names_of_disputes_are_unique():
    names = [dispute.name for dispute in disputes()]
    assert len(set(names)) == len(names)


def test_document_is_what_the_command_prints(settled):
    generated = DOCUMENT.read_text(encoding="utf-8").partition("## The ledger\n\n")[2]
    assert generated == markdown(settled)


def test_explained_dispute_names_its_reading(settled):
    for one in settled:
        line = ledger_line(one)
        assert line.verdict == (f"explained: {one.explanation}" if one.verdict == EXPLAINED else one.verdict)
        assert bool(one.explanation) == (one.verdict == EXPLAINED)
