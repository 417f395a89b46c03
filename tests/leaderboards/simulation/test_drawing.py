"""Simulated leaderboards have the truth that they state, and splits that depend on each other as real ones do."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.simulation.drawing import N_ROWS, BoardSize, Scenario, draw, split_sd


def losses(scenario: Scenario, size: BoardSize, seed: int = 0) -> np.ndarray:
    return draw(scenario, size, np.random.default_rng(seed)).losses


def test_simulated_losses_equal_least_squares_test_errors():
    """The regression on one feature, refitted with numpy from the same draws."""
    size = BoardSize(3, 1, 2, 0.8)
    rng = np.random.default_rng(5)
    x, noise = rng.standard_normal((1, N_ROWS, 3))[0], rng.standard_normal((1, N_ROWS, 1))[0, :, 0]
    order = np.argsort(rng.random((1, 2, N_ROWS)), axis=2)[0]
    y = 0.3 * x.sum(axis=1) + noise
    ours = losses(Scenario("equal"), size, 5)[0]
    for split in range(2):
        test, train = order[split, :40], order[split, 40:]
        for method in range(3):
            (slope,), *_ = np.linalg.lstsq(x[train, method : method + 1], y[train])
            assert ours[split, method] == pytest.approx(np.mean((y[test] - slope * x[test, method]) ** 2))


@pytest.mark.parametrize(("overlap", "ratio", "seen_as"), [(0.9, 1 / 9, 1.0), (0.5, 1.0, 0.75)])
def test_split_correlation_is_near_nadeau_and_bengios(overlap, ratio, seen_as):
    """Nothing puts the ratio in; the variance of means over splits shows it. For halves the formula is cautious."""
    size = BoardSize(8, 1500, 5, overlap)
    assert size.ratio == pytest.approx(ratio)
    values = losses(Scenario("equal"), size)
    differences = values[..., ::2] - values[..., 1::2]
    seen = differences.mean(axis=1).var() / differences.var(axis=1, ddof=1).mean() - 1 / 5
    assert seen == pytest.approx(seen_as * ratio, rel=0.15)


def test_equal_methods_have_equal_mean_losses():
    values = losses(Scenario("equal"), BoardSize(6, 1500, 2))
    spread = (values - values.mean(axis=2, keepdims=True)).mean(axis=(0, 1))
    assert np.abs(spread).max() < 4 * split_sd(BoardSize(6, 1500, 2), False) / np.sqrt(1500)


def test_simulated_gaps_and_effects_have_requested_sizes():
    size = BoardSize(10, 400, 2)
    drawn = draw(Scenario("gap", effect=0.5, gap=2.0, better=0.2), size, np.random.default_rng(0))
    unit = split_sd(size, False)
    assert drawn.truth.tolist() == pytest.approx([-2 * unit] * 2 + [0.0] * 8)
    assert (drawn.on_datasets - drawn.truth).std() == pytest.approx(0.5 * unit, rel=0.05)
    means = drawn.losses.mean(axis=(0, 1))
    assert means[2:].mean() - means[:2].mean() == pytest.approx(2 * unit, rel=0.1)


def test_simulated_cells_fail_at_the_requested_rate():
    assert np.isnan(losses(Scenario("failures", failures=0.1), BoardSize(10, 50, 10))).mean() == pytest.approx(
        0.1, abs=0.02
    )
