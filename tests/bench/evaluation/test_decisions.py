"""Properties that evaluations of bandits, of optimisation and of active learning share."""

import numpy as np
import pytest
from decisions import evaluation_of, outcomes

from lockstep_bench.bench.evaluation import active_learning, bandits, optimisation

NAMES = ("wdbc-bandit", "optimise-diabetes", "active-diabetes")


@pytest.fixture(autouse=True)
def few_fits(monkeypatch):
    monkeypatch.setattr(bandits, "BLOCKS", 4)
    monkeypatch.setattr(optimisation, "BATCHES", 3)
    monkeypatch.setattr(active_learning, "BATCHES", 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["mfvi", "deep-ensemble"])
def test_equal_seeds_give_equal_bits_whatever_the_neighbours(method, name):
    alone = outcomes(method, name, splits=(1,))[0]
    for options in ({"splits": (1,)}, {"splits": (0, 1)}, {"splits": (0, 1), "rows": 2}):
        *_, beside = outcomes(method, name, **options)
        assert beside.metrics == alone.metrics
        assert beside.tables == alone.tables
    assert outcomes(method, name, splits=(1,), seed=1)[0].metrics != alone.metrics


@pytest.mark.parametrize("name", NAMES)
def test_cell_whose_predictions_are_not_finite_diverged(monkeypatch, name):
    evaluation = evaluation_of("map", name, splits=(0, 1))
    monkeypatch.setitem(evaluation.fits.hparams[0], "lr", float("nan"))
    *_, (broken, sound) = evaluation.run()
    assert (broken.status, broken.metrics) == ("diverged", {})
    assert sound.metrics == outcomes("map", name, splits=(1,))[0].metrics


@pytest.mark.parametrize("name", NAMES[:2])
def test_method_without_preference_chooses_at_random(name):
    """The baseline `constant` predicts the same number for every action and row."""
    ratios = [outcome.metrics["regret_uniform_ratio"] for outcome in outcomes("constant", name, splits=range(10))]
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(10))
