"""The constant predictor against closed forms: SciPy's normal distribution, class frequencies, moments in NumPy."""

import numpy as np
import pytest
import torch
from scipy import stats

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine import stacked_sweep
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.constant import Constant
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

SCHEDULE = Schedule(40, 10, 3, 1)
FITS = [Fit(np.arange(40), {}, 0), Fit(np.arange(10, 47), {}, 1)]
TEST = np.arange(47, 60)


def data_of(y: np.ndarray) -> Data:
    return Data.of(np.random.default_rng(1).standard_normal((len(y), 3)), y)


def predictives(likelihood, y: np.ndarray, **options):
    trained = train_stacked(Constant(), Task("any", likelihood, MLP(3)), data_of(y), FITS, SCHEDULE, **options)
    return list(trained.predict([TEST] * len(FITS), 30))


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("likelihood", [Gaussian((0.1, 1.0)), HeteroscedasticGaussian()], ids=lambda each: each.kind)
def test_constant_predicts_the_maximum_likelihood_gaussian(likelihood, standardise):
    y = 1000 + np.random.default_rng(0).gamma(2.0, 5.0, 60)
    for fit, predictive in zip(FITS, predictives(likelihood, y, standardise=standardise), strict=True):
        mean, sd = stats.norm.fit(y[fit.rows])
        assert predictive.mean.shape == predictive.variance.shape == (1, len(TEST))
        np.testing.assert_allclose(predictive.mean, mean, rtol=1e-5)
        np.testing.assert_allclose(predictive.variance, sd**2, rtol=1e-4)
        expected = -stats.norm.logpdf(y[TEST], mean, sd).mean()
        assert metrics.nmll(predictive, torch.tensor(y[TEST])) == pytest.approx(expected, abs=1e-4)


def test_chunked_pass_gives_the_exact_target_moments(monkeypatch):
    monkeypatch.setattr(stacked_sweep, "SWEEP_NUMBERS", 14)  # parts of 7 rows
    y = np.random.default_rng(0).standard_normal(60) ** 3
    for fit, predictive in zip(FITS, predictives(Gaussian((0.1, 1.0)), y, standardise=False), strict=True):
        np.testing.assert_allclose(predictive.mean, y[fit.rows].mean(), rtol=1e-5)
        np.testing.assert_allclose(predictive.variance, y[fit.rows].var(), rtol=1e-5)


@pytest.mark.parametrize(("likelihood", "n_classes"), [(Bernoulli(), 2), (Categorical(4), 4)])
def test_class_probabilities_are_training_frequencies(likelihood, n_classes):
    y = np.random.default_rng(0).integers(0, n_classes, 60).astype(float)
    for fit, predictive in zip(FITS, predictives(likelihood, y), strict=True):
        frequencies = np.bincount(y[fit.rows].astype(int), minlength=n_classes) / len(fit.rows)
        np.testing.assert_allclose(predictive.log_probs.exp()[0], np.tile(frequencies, (len(TEST), 1)), rtol=1e-6)


def test_unseen_classes_get_laplaces_rule_of_succession():
    y = np.r_[np.zeros(30), np.ones(17), np.full(13, 2.0)]
    predictive, _ = predictives(Categorical(3), y)
    np.testing.assert_allclose(predictive.log_probs.exp()[0, 0], np.array([31, 11, 1]) / 43, rtol=1e-6)


def test_image_class_probabilities_are_training_frequencies():
    y = np.arange(60.0) % 3 // 2  # two thirds of class 0
    pixels = Data.of(np.random.default_rng(0).integers(0, 256, size=(60, 8), dtype=np.uint8), y)
    task = Task("any", Categorical(2), MLP(8, hidden=(), n_outputs=2))
    trained = train_sequentially(Constant(), task, pixels, FITS[:1], SCHEDULE, channels=2)
    (predictive,) = trained.predict([TEST], 5)
    np.testing.assert_allclose(predictive.log_probs.exp()[0, 0], [27 / 40, 13 / 40], rtol=1e-6)
