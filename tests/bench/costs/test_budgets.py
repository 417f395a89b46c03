"""A budget pays for trials and minibatches by measured lines, worked out by hand."""

from dataclasses import replace

import pandas as pd
import pytest

from lockstep_bench.bench.costs.budgets import (
    FEWEST_MINIBATCHES,
    LONGEST,
    MOST_TRIALS,
    TRIALS,
    Rates,
    Spending,
    budgeted,
    measured,
    spending,
    spent_before,
    updates_of,
)
from lockstep_bench.bench.costs.line import Line
from lockstep_bench.bench.costs.probe import Parts
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

TUNED = Protocol(trials=30, epochs=20, batch_size=10)  # 1,000 rows: 100 minibatches an epoch, 2,000 in all
CELL = Cell("uci", "yacht", "map", 0, "tuned", TUNED, 0)


def rates(trial: tuple[float, float], fit: tuple[float, float]) -> Rates:
    return Rates(Line(*trial), Line(*fit), 1000)


def one_for_one(minibatches: int) -> int:
    return minibatches


def test_cost_line_passes_through_both_measurements():
    line = Line.through(100, 1.0, 400, 1.6)
    assert (line.at(100), line.at(400), line.at(1000)) == pytest.approx((1.0, 1.6, 2.8))


def test_cost_line_has_no_negative_slope():
    assert Line.through(100, 1.0, 400, 0.5) == (0.5, 0.0)
    assert Line.through(1, 1.0, 1, 1.2) == (1.2, 0.0)


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (60.0, Spending(30, 2000)),  # 30 x 2,000 x 1 ms: the protocol itself
        (15.0, Spending(15, 1000)),  # a quarter is half of both
        (240.0, Spending(60, 4000)),
    ],
)
def test_budget_scales_trials_and_minibatches_in_proportion(budget, spent):
    # A little more than the budget, so that rounding does not decide.
    assert spending(budget * (1 + 1e-9), rates((0, 1e-3), (0, 0)), TUNED, one_for_one) == spent


def test_budget_includes_fixed_costs_besides_updates():
    # s with 30 s (1 + 2 s) + 10 = 100: 60 s^2 + 30 s - 90 = 0, so s = 1.
    assert spending(100 * (1 + 1e-9), rates((1, 1e-3), (10, 0)), TUNED, one_for_one) == (30, 2000)


def test_trials_and_minibatches_stop_at_their_limits():
    assert spending(1e9, rates((0, 1e-3), (0, 1e-3)), TUNED, one_for_one) == (MOST_TRIALS, 20_000)


def test_tuning_is_skipped_below_five_affordable_trials():
    # Five trials and 333 minibatches take 1.665 s. Below, all goes to the fit: 800 minibatches of 2 ms in 1.6 s.
    assert spending(1.7, rates((0, 1e-3), (0, 0)), TUNED, one_for_one) == (5, 339)
    assert spending(1.6 * (1 + 1e-9), rates((0, 1e-3), (0, 2e-3)), TUNED, one_for_one) == (0, 800)


def test_slow_method_gets_the_minimal_number_of_minibatches():
    assert spending(1.0, rates((0, 1), (0, 1)), TUNED, one_for_one) == (0, FEWEST_MINIBATCHES)


def test_planned_updates_follow_the_methods_minibatches_per_update():
    assert updates_of(CELL, 1000, 500) == 500
    vifa = Cell("uci", "yacht", "vifa", 0, "tuned", TUNED, 0)
    assert updates_of(vifa, 1000, 500) == 125  # four minibatches each


@pytest.mark.parametrize(("method", "per_update"), [("map", 1), ("vifa", 4)])
def test_measured_slope_stands_out_from_fixed_costs(monkeypatch, method, per_update):
    """Tuning takes 1 s, 2 % more by chance in the first of two runs, and 0.1 ms for each update."""
    runs: list[int] = []

    def parts(cell, trials, minibatches, data_dir, device):
        runs.append(minibatches)
        assert cell.protocol.epochs == LONGEST * TUNED.epochs  # as `updates_of` assumes
        seconds = (1.02 if len(runs) % 2 == 0 else 1.0) + 1e-4 * updates_of(CELL, 1000, minibatches) / per_update
        return Parts(seconds, 0.0, 1000)

    monkeypatch.setattr("lockstep_bench.bench.costs.probe.seconds_of_parts", parts)
    rates = measured(replace(CELL, method=method), None, "cpu")
    assert TRIALS * rates.trial.slope == pytest.approx(1e-4, rel=0.05)


def test_budget_has_one_protocol_hash_for_all_methods():
    cells = [budgeted(CELL, 10), budgeted(CELL, 10, Spending(7, 300)), budgeted(CELL, 10, Spending(0, 300))]
    assert len({cell.protocol.hash for cell in cells}) == 1
    assert cells[1].protocol.trials == 7
    assert (cells[2].protocol.sampler, cells[2].protocol.max_minibatches) == ("centre", 300)
    assert budgeted(CELL, 100).protocol.hash != cells[0].protocol.hash


def test_resumed_budget_reuses_trials_of_earlier_rows():
    cells = [CELL, budgeted(CELL, 10, Spending(7, 300))]
    rows = [
        {"suite": "uci", "dataset": "yacht", "method": "map"}
        | {"protocol_hash": cell.protocol.hash, "protocol": cell.protocol.to_json()}
        for cell in cells
    ]
    found = spent_before(pd.DataFrame(rows))
    assert found == {("uci", "yacht", "map", cells[1].protocol.hash): cells[1].protocol}
