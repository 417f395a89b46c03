"""The promises of `docs/statistics.md` hold on leaderboards of known truth."""

from pathlib import Path

import numpy as np
import pytest

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.simulation.drawing import BoardSize, Scenario
from lockstep_bench.leaderboards.simulation.promises import Kept, _any_false, promises, promises_on_residuals, scenarios
from lockstep_bench.leaderboards.simulation.report import heading, line
from lockstep_bench.leaderboards.simulation.residuals import residuals
from lockstep_bench.leaderboards.stats.summary import with_labelled_presets


def test_verdict_is_false_if_it_contradicts_true_losses():
    equal, graded = np.zeros(3), np.array([0.0, 1.0, 2.0])
    assert _any_false(["undecided", "failed", "undecided"], equal) == 0
    assert _any_false(["could be best", "undecided", "worse"], equal) == 1
    assert _any_false(["best", "worse", "worse"], graded) == 0
    assert _any_false(["worse", "best", "worse"], graded) == 1
    assert _any_false(["undecided", "undecided", "could be best"], graded) == 1


def test_large_gaps_are_detected_and_covered_by_intervals():
    kept = promises(Scenario("gap", gap=20.0), BoardSize(4, 8, 5), repeats=5)
    assert (kept.found_over_sets, kept.leader_right, kept.false_over_sets) == (1, 1, 0)


def test_same_seed_gives_the_same_simulation_table():
    size = BoardSize(4, 3, 3)
    first, second = (promises(Scenario("equal"), size, repeats=4, seed=7) for _ in range(2))
    assert line(first) == line(second)


def test_simulation_table_has_a_column_per_guarantee():
    assert len({scenario.name for scenario in scenarios(1.0)}) == len(scenarios(1.0))
    row = line(Kept("equal", 0.05, *[float("nan")] * 8))
    assert row.startswith("| equal | 5.0 |  |")
    assert {row.count("|")} == {text.count("|") for text in heading().splitlines()}


@pytest.fixture(scope="module")
def kept_rows():
    return with_labelled_presets(read_results(Path(leaderboards.__file__).parent / "results").cells)


def test_residuals_are_centred_with_unchanged_spread(kept_rows):
    observed = residuals(kept_rows, "uci", "tuned", "rmse")
    assert np.abs(observed.of_datasets.mean(axis=0)).max() < 1e-12
    assert np.abs(observed.of_datasets.mean(axis=1)).max() < 1e-12
    assert all(np.abs(rows.mean(axis=0)).max() < 1e-9 for rows in observed.of_splits)
    spreads = observed.of_datasets.std(axis=0)
    assert spreads.max() > 5 * spreads.min()  # real methods are not interchangeable


@pytest.mark.slow
@pytest.mark.parametrize("scenario", scenarios(1.5), ids=lambda s: s.name)
def test_false_verdict_rate_is_at_most_five_percent(scenario):
    """At most 6 % of leaderboards over sets, and of sets by themselves, with 5 % promised."""
    kept = promises(scenario, BoardSize(18, 9, 20), repeats=1000)
    assert kept.false_over_sets <= 0.06
    assert kept.false_on_sets <= 0.06
    assert kept.rank_sets >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["nmll", "rmse", "crps"])
def test_verdicts_on_resampled_residuals_are_rarely_false(metric, kept_rows):
    kept = promises_on_residuals(residuals(kept_rows, "uci", "tuned", metric), repeats=1000)
    assert kept.false_over_sets <= 0.06
    assert kept.false_on_sets <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("size", [BoardSize(8, 6, 5), BoardSize(32, 9, 5), BoardSize(8, 20, 5)], ids=str)
@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_intervals_have_their_nominal_coverage(size, effect):
    kept = promises(Scenario("equal", effect), size, repeats=400)
    assert kept.false_over_sets <= 0.06
    assert 0.93 <= kept.difference_over_sets <= 0.97
    assert 0.93 <= kept.difference_on_sets <= 0.97
