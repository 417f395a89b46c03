"""Thinned predictions keep what figures need, within their stated precision."""

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.leaderboards.stats.predictions import Predictions, moments, pit, probabilities
from lockstep_bench.leaderboards.stats.thinned import MOST_POINTS, restored, thinned

N, S, C = 200, 6, 5


@pytest.fixture
def regressed() -> Predictions:
    rng = np.random.default_rng(0)
    mean = 1_000 + rng.normal(size=(N, S))
    y = 1_000 + 1.5 * rng.normal(size=N)
    y[0] += 5_000  # far off
    return Predictions(y, np.zeros(N, bool), mean, rng.uniform(0.5, 2.0, (N, S)), None)


def test_thinned_regressions_keep_errors_sds_and_pit(regressed):
    kept = restored(thinned(regressed))
    mean, variance = moments(regressed)
    kept_mean, kept_variance = moments(kept)
    sd = np.sqrt(variance)
    np.testing.assert_allclose(kept.y - kept_mean, regressed.y - mean, rtol=4e-3, atol=1e-3)
    np.testing.assert_allclose(np.sqrt(kept_variance), sd, rtol=2**-8)
    scaled = (regressed.y[:, None] - regressed.mean) / np.sqrt(regressed.variance)
    np.testing.assert_allclose(pit(kept), stats.norm.cdf(scaled).mean(axis=1), atol=1e-5)


def test_thinned_points_without_target_have_no_pit(regressed):
    ood = np.arange(N) % 4 == 0
    kept = pit(restored(thinned(regressed._replace(y=np.where(ood, np.nan, regressed.y), ood=ood))))
    np.testing.assert_array_equal(np.isnan(kept), ood)


def test_thinned_classifications_keep_mean_probabilities():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(C, 0.05), size=(N, S))  # some are nearly 0
    ood = np.arange(N) % 4 == 0
    y = np.where(ood, np.nan, rng.integers(C, size=N))
    given = Predictions(y, ood, None, None, np.log(np.maximum(probs, 1e-300)))
    kept = restored(thinned(given))
    np.testing.assert_allclose(probabilities(kept), probs.mean(axis=1), rtol=0.005, atol=1e-9)
    np.testing.assert_array_equal(kept.y, y)
    np.testing.assert_array_equal(kept.ood, ood)


def test_thinned_points_are_evenly_spaced():
    n = 10 * MOST_POINTS
    ood = np.arange(n) >= n - 7
    given = Predictions(np.arange(n, dtype=float), ood, np.zeros((n, 1)), np.ones((n, 1)), None)
    kept = restored(thinned(given))
    assert kept.ood.sum() == 7
    test = kept.y[~kept.ood]
    assert len(test) == MOST_POINTS
    assert set(np.diff(test)) <= {9.0, 10.0, 11.0}


def test_thinned_predictions_of_300_points_take_few_bytes(regressed):
    import pyarrow as pa

    from lockstep_bench.shared.rows.parquet_with_digest import sealed

    table = pa.concat_tables([thinned(regressed)] * 10)
    assert len(sealed(table, compression="zstd")) < 12 * len(table)
