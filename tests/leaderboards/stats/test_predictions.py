"""Statistics of single predictions, against scikit-learn and known distributions."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score, roc_curve

from lockstep_bench.leaderboards.stats.predictions import Predictions, pit, probabilities, read, reliability, roc
from lockstep_bench.shared.schema import predictions_schema

N, S, C = 400, 6, 5


@pytest.fixture
def classified():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(C), size=(N, S))
    y, ood = rng.integers(C, size=N).astype(float), rng.random(N) < 0.3
    return Predictions(np.where(ood, np.nan, y), ood, None, None, np.log(probs))


def test_only_the_true_distribution_has_uniform_pit_values():
    rng = np.random.default_rng(0)
    mean, y = rng.normal(size=(N, 1)), None
    y = mean[:, 0] + 2 * rng.normal(size=N)
    right, wide = (
        Predictions(y, np.zeros(N, bool), np.repeat(mean, S, 1), np.full((N, S), sd**2), None) for sd in (2.0, 6.0)
    )
    np.testing.assert_allclose(pit(right), stats.norm.cdf(y, mean[:, 0], 2))
    assert stats.kstest(pit(right), "uniform").pvalue > 0.01
    assert stats.kstest(pit(wide), "uniform").pvalue < 1e-6


def test_pit_averages_the_cdf_over_samples():
    one = Predictions(np.array([0.0]), np.zeros(1, bool), np.array([[-1.0, 3.0]]), np.array([[1.0, 4.0]]), None)
    np.testing.assert_allclose(pit(one), [(stats.norm.cdf(1.0) + stats.norm.cdf(-1.5)) / 2])


def test_roc_curve_equals_sklearn(classified):
    score = 1 - probabilities(classified).max(axis=1)
    false, true = roc(classified)
    theirs, ours, _ = roc_curve(classified.ood, score, drop_intermediate=False)
    np.testing.assert_allclose(false, theirs)
    np.testing.assert_allclose(true, ours)
    assert np.trapezoid(true, false) == pytest.approx(roc_auc_score(classified.ood, score))


def test_tied_scores_are_one_step_of_the_roc_curve():
    log_probs = np.log(np.full((4, 1, 2), 0.5))
    false, true = roc(Predictions(np.zeros(4), np.array([True, False, True, False]), None, None, log_probs))
    assert (false.tolist(), true.tolist()) == ([0, 1], [0, 1])


def test_confidence_bins_contain_every_test_point_once(classified):
    bins = reliability(classified)
    probs, y = probabilities(classified)[~classified.ood], classified.y[~classified.ood]
    assert bins["count"].sum() == len(y)
    filled = bins[bins["count"] > 0]
    assert ((filled["low"] < filled["confidence"]) & (filled["confidence"] <= filled["high"])).all()
    right = (filled["accuracy"] * filled["count"]).sum()
    assert right == pytest.approx((probs.argmax(axis=1) == y).sum())


def test_stored_predictions_are_read_back(tmp_path, classified):
    schema = predictions_schema(S, C)
    flat = classified.log_probs.reshape(N, -1).astype("f4").tolist()
    y = [None if out else value for value, out in zip(classified.y, classified.ood, strict=True)]
    columns = {"row": range(N), "ood": classified.ood, "y": y, "log_probs": flat, "nll": [None] * N}
    pq.write_table(pa.Table.from_pydict(columns, schema=schema), tmp_path / "p.parquet")
    found = read(tmp_path / "p.parquet")
    order = np.argsort(classified.ood, kind="stable")  # test points first
    assert found.log_probs.shape == (N, S, C)
    np.testing.assert_allclose(found.log_probs, classified.log_probs[order], rtol=1e-5)
    np.testing.assert_array_equal(found.y, classified.y[order])
