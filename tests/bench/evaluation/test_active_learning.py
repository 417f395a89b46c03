"""Active learning: curves of known learners, and properties of evaluations."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import active_learning
from lockstep_bench.bench.evaluation.acquisition import ACQUISITIONS
from lockstep_bench.bench.evaluation.active_learning import ActiveLearningEvaluation, areas
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.shared.columns import ACQUIRED
from lockstep_bench.shared.protocol import Protocol

PROTOCOL = Protocol(sampler="centre", max_minibatches=5, batch_size=8, samples=7, stream_length=12)


@pytest.fixture(autouse=True)
def few_batches(monkeypatch):
    monkeypatch.setattr(active_learning, "BATCHES", 2)


def evaluation_of(method, splits=(0,), seed=0, rows=150):
    cells = tuple(Cell("decisions", "active-diabetes", method, split, "tiny", PROTOCOL, seed) for split in splits)
    job = Job(cells, tuple(Path("unused") for _ in cells), None, stack_rows=rows)
    return ActiveLearningEvaluation(job, torch.device("cpu"), lambda progress: None)


def outcomes(*arguments, **options):
    *_, last = evaluation_of(*arguments, **options).run()
    return last


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
    (outcome,) = outcomes("mfvi")
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
    first, second = evaluation_of("map"), evaluation_of("mfvi")
    for evaluation in (first, second):
        *_, _ = evaluation.run()
    by_method = [{each.acquisition: each.known for each in evaluation.learners} for evaluation in (first, second)]
    assert (by_method[0]["random"] == by_method[1]["random"]).all()
    assert not np.array_equal(by_method[0]["bald"], by_method[1]["bald"])
    for known in by_method[1].values():
        assert len(set(known.tolist())) == 32
        assert not set(known.tolist()) & set(first._assignment.splits[0].test.tolist())


@pytest.mark.parametrize("method", ["mfvi", "deep-ensemble"])
def test_equal_seeds_give_equal_bits_whatever_the_neighbours(method):
    alone = outcomes(method, splits=(1,))[0]
    for options in ({"splits": (0, 1)}, {"splits": (0, 1), "rows": 2}):
        *_, beside = outcomes(method, **options)
        assert beside.metrics == alone.metrics
    assert outcomes(method, splits=(1,), seed=1)[0].metrics != alone.metrics


def test_cell_whose_predictions_are_not_finite_diverged(monkeypatch):
    evaluation = evaluation_of("map", splits=(0, 1))
    monkeypatch.setitem(evaluation.fits.hparams[0], "lr", float("nan"))
    *_, (broken, sound) = evaluation.run()
    assert (broken.status, broken.metrics) == ("diverged", {})
    assert sound.metrics == outcomes("map", splits=(1,))[0].metrics
