"""Draws that chains keep, and autocorrelation times against processes and estimates that are known."""

import numpy as np
import pytest
import torch

from lockstep_bench.methods.mcmc.draws import Kept, autocorrelation_times, started_draws, thinned, with_draw


def autoregression(correlation: float, count: int, seed: int = 0) -> np.ndarray:
    """Return x_t = correlation x_(t-1) + noise, whose autocorrelation time is (1 + correlation) / (1 - correlation)."""
    noise, x = np.random.default_rng(seed).standard_normal(count), np.zeros(count)
    for t in range(1, count):
        x[t] = correlation * x[t - 1] + noise[t]
    return x


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_autocorrelation_times_of_ar1_processes_are_correct(correlation):
    chains = np.stack([autoregression(correlation, 400, seed) for seed in range(50)], axis=1)
    times = autocorrelation_times(torch.tensor(chains))
    assert times.shape == (50,)
    assert float(times.mean()) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.12)


@pytest.mark.parametrize("count", [20, 61, 200])
def test_autocorrelation_times_equal_arviz(count):
    arviz = pytest.importorskip("arviz_stats.base.array").array_stats
    chains = np.stack([autoregression(0.6, count, seed) for seed in range(20)], axis=1)
    wanted = [count / float(arviz._ess(chain[None])) for chain in chains.T]
    assert autocorrelation_times(torch.tensor(chains)).tolist() == pytest.approx(wanted, rel=1e-6)


def test_draw_buffer_keeps_the_newest_draws():
    draws = started_draws(torch.zeros(2), 3)
    for number in range(1, 6):
        draws = with_draw(draws, torch.full((2,), float(number)))
    assert draws.tolist() == [[3, 3], [4, 4], [5, 5]]


def test_missing_draws_are_copies_of_the_first_draw():
    kept = Kept.init(torch.zeros(1), 3)
    seen = []
    for number in range(1, 6):
        kept = kept.add(torch.tensor([float(number)]))
        seen.append(kept.draws.flatten().tolist())
    assert seen == [[1, 1, 1], [1, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]


@pytest.mark.parametrize(("count", "kept"), [(1, [0]), (2, [0, 3]), (3, [0, 2, 4]), (7, range(7)), (9, range(7))])
def test_thinned_draws_are_evenly_spaced(count, kept):
    assert thinned(torch.arange(7)[:, None], count).flatten().tolist() == list(kept)
