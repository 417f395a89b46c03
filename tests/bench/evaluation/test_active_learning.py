"""Active learning: curves of known learners, and properties of evaluations."""

import numpy as np
import pytest
from decisions import evaluation_of, outcomes

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import active_learning
from lockstep_bench.bench.evaluation.acquisition import ACQUISITIONS
from lockstep_bench.bench.evaluation.active_learning import areas
from lockstep_bench.shared.columns import ACQUIRED


@pytest.fixture(autouse=True)
def few_batches(monkeypatch):
    monkeypatch.setattr(active_learning, "BATCHES", 2)


def test_areas_are_means_after_the_first_fit_and_ratios_to_random():
    curves = {
        "bald": [{"rmse": 9.0, "nmll": 9.0}, {"rmse": 1.0, "nmll": 3.0}, {"rmse": 2.0, "nmll": 5.0}],
        "random": [{"rmse": 9.0, "nmll": 9.0}, {"rmse": 2.0, "nmll": 4.0}, {"rmse": 4.0, "nmll": 4.0}],
    }
    assert areas(curves) == {
        "active_rmse_bald": 1.5,
        "active_rmse_random": 3.0,
        "active_nmll_bald": 4.0,
        "active_nmll_random": 4.0,
        "active_ratio_bald": 0.5,
    }


def test_acquisition_functions_are_those_of_the_columns():
    assert list(ACQUISITIONS) == list(ACQUIRED)


def test_outcome_has_curves_their_means_and_scores():
    (outcome,) = outcomes("mfvi", "active-diabetes")
    assert outcome.status == "ok"
    curve = outcome.tables["learning"].to_pandas()
    assert curve["n_train"].tolist() == [20, 26, 32] * 3
    assert curve.loc[curve["n_train"] == 20, "rmse"].nunique() == 1  # all begin with the same fit
    means = curve[curve["n_train"] > 20].groupby("acquisition")[["rmse", "nmll"]].mean()
    for name in ACQUIRED:
        assert outcome.metrics[f"active_rmse_{name}"] == pytest.approx(means.loc[name, "rmse"])
        assert outcome.metrics[f"active_nmll_{name}"] == pytest.approx(means.loc[name, "nmll"])
    last = curve[(curve["n_train"] == 32) & (curve["acquisition"] == "random")]["nmll"].item()
    assert outcome.metrics["nmll"] == pytest.approx(last)
    sd = datasets.load("active-diabetes").y.std()
    assert outcome.metrics["rmse"] / sd == pytest.approx(
        curve[(curve["n_train"] == 32) & (curve["acquisition"] == "random")]["rmse"].item()
    )
    assert {"nmll_joint_10", "nmll_dyadic"} <= set(outcome.metrics)


def test_random_rows_are_the_same_for_all_methods():
    first, second = (evaluation_of(method, "active-diabetes") for method in ("map", "mfvi"))
    for evaluation in (first, second):
        *_, _ = evaluation.run()
    by_method = [{each.acquisition: each.known for each in evaluation.learners} for evaluation in (first, second)]
    assert (by_method[0]["random"] == by_method[1]["random"]).all()
    assert not np.array_equal(by_method[0]["bald"], by_method[1]["bald"])
    for known in by_method[1].values():
        assert len(set(known.tolist())) == 32
        assert not set(known.tolist()) & set(first._assignment.splits[0].test.tolist())
