"""Arrays give the numbers of a run's cells, and predictions at new inputs those of the engine."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from lockstep_bench import datasets
from lockstep_bench.bench import arrays, metrics
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.methods import get
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

SHORT = arrays.protocol_of("quick", {"trials": 2, "max_minibatches": 60})


def sine(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(n, 2))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("name", "method", "split", "seed"),
    [("diabetes", "vifa", 0, 0), ("diabetes", "ensemble:map", 2, 3), ("wdbc", "laplace", 1, 1)],
)
def test_array_fit_equals_the_benchmark_run(tmp_path, name, method, split, seed):
    cell = Cell("uci", name, method, split, "quick", SHORT, seed)
    outcome = run(Job((cell,), (tmp_path / "study.log",), None))[0].outcome
    data = arrays.registered(name, split)
    tuned = arrays.tune(data, method, SHORT, seed=seed)
    posterior = arrays.fit(data, method, SHORT, tuned.hparams, seed=seed)
    test = data.dataset.splits[split].test
    predictive = posterior.predict(data.dataset.x[test])
    assert tuned.hparams == json.loads(outcome.tuning.hparams)
    assert tuned.score == outcome.tuning.validation_nmll
    assert metrics.nmll(predictive, torch.tensor(data.dataset.y[test])) == outcome.metrics["nmll"]


def test_array_fit_equals_the_run_on_a_csv_table(tmp_path):
    csv = tmp_path / "waves.csv"
    frame = pd.DataFrame(np.column_stack(sine()), columns=["a", "b", "y"])
    test = datasets.fixed_splits(len(frame), 20, 0)[3].test
    frame["text"] = np.where(frame.index == test[0], "only in test", np.resize(["u", "v", "w"], len(frame)))
    frame.to_csv(csv, index=False)
    table, _ = datasets.describe(csv, "y")
    cell = Cell("own", "waves", "map", 3, "quick", SHORT, 0)
    with datasets.added([table]):
        outcome = run(Job((cell,), (tmp_path / "study.log",), None))[0].outcome
        data = arrays.registered("waves", 3, "own")
        tuned = arrays.tune(data, "map", SHORT)
        posterior = arrays.fit(data, "map", SHORT, tuned.hparams)
    assert (tuned.hparams, tuned.score) == (json.loads(outcome.tuning.hparams), outcome.tuning.validation_nmll)
    assert data.dataset.x.shape == (60, 5)
    predictive = posterior.predict(data.dataset.x[test])
    assert metrics.nmll(predictive, torch.tensor(data.dataset.y[test])) == outcome.metrics["nmll"]


def test_predictions_at_new_inputs_equal_the_engines():
    x, y = sine()
    hparams = {"lr": 0.02, "prior_precision": 1.0, "noise_precision": 50.0}
    data, new = arrays.regression(x, y), np.random.default_rng(1).uniform(-2, 2, size=(9, 2))
    posterior = arrays.fit(data, "mfvi", SHORT, hparams, seed=4)
    task = Task("arrays", Gaussian((1.0, 2.0)), MLP(2))
    fit = Fit(np.arange(60), hparams, posterior.fits.fits[0].seed)
    schedule = Schedule(60, SHORT.batch_size, SHORT.epochs, 1, SHORT.max_minibatches)
    fits = train_stacked(
        get("mfvi"), task, Data.of(np.concatenate([x, new]), np.append(y - y.mean(), np.zeros(9))), [fit], schedule
    )
    (expected,) = fits.predict([np.arange(60, 69)], SHORT.samples)
    predictive = posterior.predict(new)
    assert torch.equal(predictive.mean, expected.mean.double() + y.mean())
    assert torch.equal(predictive.variance, expected.variance)


def test_predictions_equal_a_dense_forward_pass():
    """The predictive of MAP is the network of its weights, written out here in NumPy."""
    x, y = sine()
    new = np.random.default_rng(1).uniform(-2, 2, size=(9, 2))
    hparams = {"lr": 0.02, "prior_precision": 1.0, "noise_precision": 50.0}
    posterior = arrays.fit(arrays.regression(x, y), "map", SHORT, hparams)
    weights = posterior.fits.posterior[0].double().numpy()
    into, bias, out, last = np.split(weights, np.cumsum([2 * 50, 50, 50]))
    units = np.maximum((new - x.mean(0)) / x.std(0) @ into.reshape(2, 50) + bias, 0)
    predictive = posterior.predict(new)
    np.testing.assert_allclose(predictive.mean[0], y.mean() + y.std() * (units @ out + last), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(predictive.variance, np.full((1, 9), 1 / 50), rtol=1e-5)


def test_noise_search_range_follows_the_target_scale():
    x, y = sine()
    assert arrays.regression(x, 0.01 * y).source.noise_precisions == pytest.approx(datasets.noise_precisions(0.01 * y))


def test_given_hparams_are_not_tuned():
    data = arrays.regression(*sine())
    hparams = {"lr": 0.02, "prior_precision": 1.0, "noise_precision": 50.0}
    tuned = arrays.tune(data, "map", arrays.protocol_of("quick", hparams=hparams))
    assert (tuned.hparams, tuned.score, tuned.n_trials) == (hparams, None, 0)


def test_given_search_range_is_used_in_tuning():
    protocol = arrays.protocol_of("quick", {"trials": 3}, {"lr": (0.5, 0.6), "prior_precision": 2.0})
    tuned = arrays.tune(arrays.regression(*sine()), "map", protocol)
    assert 0.5 <= tuned.hparams["lr"] <= 0.6
    assert tuned.hparams["prior_precision"] == 2.0


def test_posterior_holds_no_training_data():
    x, y = sine()
    hparams = {"lr": 0.02, "prior_precision": 1.0, "noise_precision": 50.0}
    posterior = arrays.fit(arrays.regression(x, y), "map", SHORT, hparams)
    assert len(posterior.fits.stack.data.x) == len(posterior.fits.fits[0].rows) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fast",), "preset 'fast' is unknown"),
        (("quick", {"epoch": 3}), "setting 'epoch' is unknown; did you mean 'epochs'"),
        (("quick", {"epochs": 0}), "at least 1"),
        (("quick", None, {"lr": (0.2, 0.1)}), "empty range"),
    ],
)
def test_invalid_protocol_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        arrays.protocol_of(*arguments)


@pytest.mark.parametrize(
    ("method", "hparams", "message"),
    [
        ("vfa", {}, "did you mean 'vifa'"),
        ("map", {"momentum": 0.9}, "there is no hyper-parameter 'momentum'; map has lr"),
        ("map", {"lr": -1.0}, "not above 0"),
        ("laplace-full", {}, "cannot be used on these data"),
    ],
)
def test_unknown_methods_and_hparams_are_refused(method, hparams, message):
    x, y = sine()
    data = arrays.regression(np.tile(x, 30), y)  # too many weights for the full Laplace approximation
    with pytest.raises(ValueError, match=message):
        arrays.tune(data, method, arrays.protocol_of("quick", hparams=hparams))


def test_error_names_missing_hyper_parameters():
    with pytest.raises(ValueError, match=r"lr, noise_precision, prior_precision\), got lr"):
        arrays.fit(arrays.regression(*sine()), "map", SHORT, {"lr": 0.1})


def test_two_classes_have_a_bernoulli_likelihood():
    x, y = sine()
    data = arrays.classification(x, y > 0, 2)
    posterior = arrays.fit(data, "map", SHORT, {"lr": 0.02, "prior_precision": 1.0})
    assert isinstance(posterior.fits.stack.model.likelihood, Bernoulli)
    assert posterior.predict(x).log_probs.shape == (1, 60, 2)


def test_reported_progress_of_a_fit_ends_at_one(monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.experiment.progress.REPORT_SECONDS", 0)
    reports, hparams = [], {"lr": 0.02, "prior_precision": 1.0, "noise_precision": 50.0}
    arrays.fit(arrays.regression(*sine()), "map", SHORT, hparams, on_progress=reports.append)
    assert reports[-1].done == 1
