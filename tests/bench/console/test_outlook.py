"""What a dry run prints."""

import io

import pytest
from rich.console import Console

from bench.console.forecast import START_SECONDS
from bench.console.outlook import duration, show
from bench.costs.estimates import EARLIER, GUESSED, Estimate
from bench.costs.packing import MIB
from bench.costs.workload import Workload
from bench.execution.workers import slots_on
from bench.experiment.cells import Cell
from bench.experiment.protocol import Protocol

YACHT, BOSTON = (Cell("uci", name, "map", 0, "p", Protocol(), 0) for name in ("yacht", "boston"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "?"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (605, "10 min 5 s"),
        (3600, "1 h 0 min"),
        (90061, "25 h 1 min"),
    ],
)
def test_durations_in_units_that_tell(seconds, text):
    assert duration(seconds) == text


def shown(*estimates: Estimate) -> str:
    console = Console(file=io.StringIO(), width=200)
    packs = [(YACHT,), (BOSTON,)][: len(estimates)]
    show(console, Workload(slots_on(["cpu"], 2), packs, [150] * len(packs), list(estimates), 4096 * MIB))
    return console.file.getvalue()


def test_a_plan_has_its_times_their_basis_its_slots_and_its_end():
    text = shown(Estimate(70.0, 512 * MIB, EARLIER), Estimate(30.0, None, GUESSED))
    lines = {line.split()[0]: " ".join(line.split()) for line in text.splitlines()}
    assert lines["yacht"] == "yacht 1 1 1 min 10 s 512 MiB earlier runs"
    assert lines["boston"] == "boston 1 1 30 s ? other methods"
    assert lines["2"] == "2 slot(s): cpu 0, cpu 1; a thread and 2,048 MiB of free memory for each"
    assert lines["Longest"] == "Longest first: yacht map (split 0) 1 min 10 s, boston map (split 0) 30 s"
    assert lines["About"] == f"About {duration(70 + START_SECONDS)} in all, 1 min 40 s of work"


def test_what_is_not_known_is_not_made_up():
    text = shown(Estimate(None, None, GUESSED))
    assert "not known" in text
    assert "About" not in text


def test_no_work_has_no_duration():
    assert "About" not in shown()
    assert "not known" not in shown()
