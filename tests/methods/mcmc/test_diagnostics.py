"""Diagnostics of chains: stored figures of ArviZ, closed forms, and chains that have not converged."""

import numpy as np
import pytest

from lockstep_bench.methods.mcmc import diagnostics


def ar1(coefficient: float, chains: int, draws: int, seed: int = 0) -> np.ndarray:
    """Stationary first-order autoregressions (chains, draws) of unit innovations."""
    innovations = np.random.default_rng(seed).standard_normal((chains, draws))
    values = innovations / np.where(np.arange(draws) == 0, np.sqrt(1 - coefficient**2), 1)
    for draw in range(1, draws):
        values[:, draw] += coefficient * values[:, draw - 1]
    return values


@pytest.mark.parametrize(
    ("coefficient", "chains", "draws", "r_hat", "size"),
    [
        (0.0, 4, 100, 1.0016925691, 419.1501),
        (0.7, 4, 301, 1.0192548489, 203.6783),
        (-0.4, 2, 200, 0.9998126934, 1040.8240),
    ],
)
def test_mcmc_diagnostics_equal_stored_arviz_values(coefficient, chains, draws, r_hat, size):
    """Expected: arviz-stats 0.8.0, array_stats.rhat(method="rank") and .ess(method="bulk")."""
    values = ar1(coefficient, chains, draws)
    assert diagnostics.r_hat(values) == pytest.approx(r_hat, abs=1e-9)
    assert diagnostics.effective_sample_size(values) == pytest.approx(size, abs=1e-4)


@pytest.mark.parametrize("coefficient", [-0.5, 0.0, 0.5, 0.9])
def test_effective_sample_size_of_an_autoregression_is_exact(coefficient):
    """Exact: S (1 - c) / (1 + c). Allowed: four standard errors over 20 repeats and a bias of 3%."""
    many = np.stack([ar1(coefficient, 4, 2000, seed) for seed in range(20)], axis=-1)
    sizes = diagnostics.effective_sample_size(many) / 8000
    exact = (1 - coefficient) / (1 + coefficient)
    assert sizes.shape == (20,)
    assert abs(sizes.mean() - exact) < 4 * sizes.std() / np.sqrt(20) + 0.03 * exact


def test_r_hat_detects_differing_modes_spreads_and_drift():
    values = np.random.default_rng(1).standard_normal((2, 1000))
    apart = values + np.array([[0], [5]])
    assert diagnostics.r_hat(values) < 1.01
    assert diagnostics.r_hat(apart) > 1.5
    assert diagnostics.effective_sample_size(apart) < 10
    assert diagnostics.r_hat(values * np.array([[1], [5]])) > 1.1
    assert diagnostics.r_hat(np.sort(values)) > 1.5


def test_single_chain_has_no_r_hat():
    values = ar1(0.5, 1, 100)[..., None]
    assert np.isnan(diagnostics.r_hat(values)).tolist() == [True]
    assert diagnostics.effective_sample_size(values) > 10


def test_diagnostics_refuse_too_short_chains():
    with pytest.raises(ValueError, match="chains of 3 draws are too short to diagnose; at least 4 are needed"):
        diagnostics.r_hat(np.zeros((2, 3)))
