"""Methods that get all training rows in one call: what they are given, and how their posteriors are kept."""

import io
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import SEEDS, Data, Fit
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.api import MLP, Categorical, Classes, FullBatchMethod, Gaussian, Normals, Paper, Task
from lockstep_bench.methods.ensemble import ensemble_of

SCHEDULE = Schedule(30, 10, 1000, 1)
ROWS = [np.arange(30), np.arange(5, 33)]


@dataclass
class Model:
    """An object that is no tensor, as a library's."""

    x: np.ndarray
    y: np.ndarray
    seed: int


class Foreign(FullBatchMethod):
    name, title, paper = "foreign", "Foreign", Paper("Somebody 2000", "A Library")

    def search_space(self, task):
        return {}

    def fit(self, problem, x, y, seed):
        weight = torch.ones((), requires_grad=True)
        (weight**2).backward()  # gradients are enabled
        return Model(x.numpy(), y.numpy(), seed)

    def predict(self, problem, posterior, x, noise, n_samples):
        if not problem.likelihood.standardises:
            return Classes(x.new_zeros(1, len(x), problem.likelihood.n_outputs).log_softmax(-1))
        mean = problem.y_mean + problem.y_scale * posterior.y[0] + posterior.seed / SEEDS
        return Normals(mean.expand(1, len(x)), torch.ones(1, len(x)))


@pytest.fixture
def data() -> Data:
    generator = np.random.default_rng(0)
    return Data.of(3 + 2 * generator.standard_normal((40, 2)), 7 + generator.standard_normal(40))


def trained(data: Data, method=None, **options):
    task = Task("any", Gaussian((0.1, 1.0)), MLP(2, (4,)))
    fits = [Fit(rows, {}, seed) for seed, rows in enumerate(ROWS)]
    return train_stacked(method or Foreign(), task, data, fits, SCHEDULE, **options)


def test_each_fit_gets_its_own_standardised_rows(data):
    for rows, model in zip(ROWS, trained(data).posterior, strict=True):
        x, y = data.x[rows].numpy(), data.y[rows].numpy()
        np.testing.assert_allclose(model.x, (x - x.mean(0)) / x.std(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(model.y, (y - y.mean()) / y.std(), rtol=1e-5, atol=1e-6)


def test_fits_get_different_seeds_below_2_to_the_32(data):
    seeds = [model.seed for model in trained(data).posterior]
    assert len(set(seeds)) == 2
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_full_batch_fit_reports_progress_without_updates(data):
    done = []
    fits = trained(data, on_update=done.append)
    assert done == [SCHEDULE.plan.n_updates]
    assert fits.execution == "sequential"
    assert fits.training_diagnostics() == [{}, {}]


def test_loaded_posteriors_predict_in_original_units(data):
    fits = trained(data)
    file = io.BytesIO()
    torch.save(fits.posterior, file)
    file.seek(0)
    loaded = replace(fits, posterior=torch.load(file, weights_only=False))
    predictives = loaded.predict([np.arange(3)] * 2, 1)
    for rows, model, predictive in zip(ROWS, fits.posterior, predictives, strict=True):
        first_target = data.y[rows[0]].item()
        np.testing.assert_allclose(predictive.mean, np.full((1, 3), first_target + model.seed / SEEDS), rtol=1e-6)


def test_members_of_an_ensemble_differ_by_seed(data):
    fits = trained(data, ensemble_of(Foreign()))
    (first, _) = fits.predict([np.arange(3)] * 2, 5)
    assert first.mean.shape == (5, 3)
    assert len(first.mean[:, 0].unique()) == 5


def test_images_are_passed_as_rows_of_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, size=(40, 8), dtype=np.uint8)
    task = Task("any", Categorical(3), MLP(8, (), 3))
    fits = [Fit(rows, {}, seed) for seed, rows in enumerate(ROWS)]
    images = Data.of(pixels, np.arange(40) % 3.0)
    series = train_sequentially(Foreign(), task, images, fits, SCHEDULE, channels=2)
    assert [model.x.shape for model in series.posteriors] == [(30, 8), (28, 8)]
    (first, _) = series.predict([np.arange(3)] * 2, 5)
    np.testing.assert_allclose(first.log_probs.exp(), 1 / 3, rtol=1e-6)


def test_ensemble_of_a_deterministic_method_is_refused():
    with pytest.raises(methods.BrokenMethod, match="draws no random numbers, so that all members would be equal"):
        methods.get("ensemble:linear")


def test_fit_with_a_wrong_signature_is_refused():
    with pytest.raises(TypeError, match=r"must accept \(problem, x, y, seed\): its parameters are self, x, y"):

        class Short(Foreign):
            def fit(self, x, y):
                return None
