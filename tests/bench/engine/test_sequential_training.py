"""Networks that are trained alone: what a method is given, and what becomes of its predictions."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from lockstep_bench import methods
from lockstep_bench.bench.engine import series
from lockstep_bench.bench.engine.minibatches import RowStream, Schedule
from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.engine.rates import Steps, cosine
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.datasets import Standardisation
from lockstep_bench.methods.base import Method, Paper, Plan
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet
from lockstep_bench.methods.problem import Task
from lockstep_bench.shared.seeds import seed_of

IMAGE = (2, 4, 4)
TASK = Task("tiny", Categorical(3), ConvNet(IMAGE, channels=(3,), n_outputs=3))
LINEAR = Task("tiny", Categorical(3), MLP(32, hidden=(), n_outputs=3))
TEST = np.arange(30, 47)
HPARAMS = {"lr": 0.01, "prior_precision": 2.0}


@pytest.fixture(scope="module")
def data() -> Data:
    generator = np.random.default_rng(0)
    return Data.of(generator.integers(0, 256, size=(60, 32), dtype=np.uint8), np.arange(60.0) % 3)


def train(data: Data, method: Method, task: Task = TASK, fits: list[Fit] | None = None, updates: int = 5, **options):
    minibatches = updates * method.batches_per_update
    schedule = Schedule(25, 6, minibatches, method.batches_per_update, minibatches)
    fits = fits or [Fit(np.arange(25), HPARAMS, 7)]
    return train_sequentially(method, task, data, fits, schedule, channels=2, **options)


class Seen(NamedTuple):
    x: Tensor
    y: Tensor
    lr: Tensor
    noise: Tensor
    swept: Tensor


class Spy(Method):
    """Keeps what it is given."""

    name, title, paper = "spy", "Spy", Paper("Somebody 2000", "A Book")
    batches_per_update = 2
    sweeps = True

    def search_space(self, task):
        return {}

    def init(self, problem, noise):
        return Seen(*(torch.zeros(0) for _ in Seen._fields))

    def update(self, problem, state, batch, noise, step):
        given = Seen(batch.x, batch.y, problem.hparams.lr[None], noise.normal(3), torch.zeros(0))
        return Seen(*(torch.cat([before, now.flatten()]) for before, now in zip(state, given, strict=True)))

    def sweep(self, problem, state, rows):
        return state._replace(swept=torch.cat([state.swept, rows.y * rows.present]))

    def predict(self, problem, posterior, x, noise, n_samples):
        shift = noise.normal(n_samples, 1, 3)
        return Classes((x[None, :, :3] + shift).log_softmax(-1))


def test_methods_see_standardised_images_in_seeded_order(data, monkeypatch):
    monkeypatch.setattr(series, "POINTS_AT_ONCE", 10)
    rows = np.arange(3, 28)
    (seen,) = train(data, Spy(), fits=[Fit(rows, HPARAMS, 7)]).posteriors
    dealt = RowStream(rows, seed_of(7, 0, "rows")).take(5 * 2 * 6)
    mean, scale = Standardisation.of_channels(data.x.numpy(), rows, 2)
    expected = (data.x.numpy()[dealt] - mean) / scale
    np.testing.assert_allclose(seen.x.reshape(60, 32), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(seen.y, dealt % 3)
    np.testing.assert_array_equal(seen.swept, rows % 3)
    assert len(seen.noise.unique()) == 15


def test_learning_rate_anneals_unless_constant_or_off(data):
    class Constant(Spy):
        constant_rate = True

    steps = Steps((1,), 10)  # an epoch has 25 / 12 updates
    cases = (Spy(), cosine), (Spy(), steps), (Constant(), cosine), (Spy(), None)
    (annealed,), (stepped,), (constant,), (plain,) = (
        train(data, method, rate=rate).posteriors for method, rate in cases
    )
    expected = [0.01 * (1 + math.cos(math.pi * k / 5)) / 2 for k in range(5)]
    np.testing.assert_allclose(stepped.lr, [0.01, 0.01, 0.01, 0.001, 0.001], rtol=1e-6)
    np.testing.assert_allclose(annealed.lr, expected, rtol=1e-6)
    np.testing.assert_allclose(constant.lr, 0.01)
    np.testing.assert_allclose(plain.lr, 0.01)


def test_images_are_augmented_before_they_are_standardised(data):
    (seen,) = train(data, Spy(), augment=lambda pixels, noise: 0 * pixels).posteriors
    mean, scale = Standardisation.of_channels(data.x.numpy(), np.arange(25), 2)
    np.testing.assert_allclose(seen.x.reshape(60, 32), np.tile(-mean / scale, (60, 1)), rtol=1e-5)


@pytest.mark.parametrize("name", ["vifa", "swag", "map", "directuq-mean", "laplace", "deep-ensemble", "mc-dropout"])
def test_weight_samples_do_not_depend_on_prediction_batch_size(data, monkeypatch, name):
    method = methods.get(name)
    hparams = HPARAMS | {"dropout_rate": 0.3, "penalty_weight": 0.1}
    trained = train(data, method, fits=[Fit(np.arange(25), hparams, 7)], updates=6)
    (whole,) = trained.predict([TEST], 6)
    monkeypatch.setattr(series, "POINTS_AT_ONCE", 5)
    (cut,) = trained.predict([TEST], 6)
    torch.testing.assert_close(whole.log_probs, cut.log_probs)
    n_samples = {"map": 1, "deep-ensemble": 5, "swag": 6}.get(name, 6)
    assert whole.log_probs.shape == (n_samples, 17, 3)
    if n_samples > 1:
        assert whole.log_probs.std(0).max() > 0


def test_batch_normalisation_predicts_with_training_statistics(data, monkeypatch):
    """A point's prediction depends on no other point, and the network's statistics are those of all training images."""
    task = Task("tiny", Categorical(3), PreActResNet(IMAGE, 3, widths=(4,), blocks=1))
    fit = Fit(np.arange(25), HPARAMS, 7)
    trained = train(data, MAP(), task, [fit], dtype=torch.float64)
    (together,), (alone,) = trained.predict([TEST], 1), trained.predict([TEST[:1]], 1)
    torch.testing.assert_close(together.log_probs[:, :1], alone.log_probs)
    mean, scale = Standardisation.of_channels(data.x.numpy(), fit.rows, 2)
    x = torch.tensor((data.x.numpy() - mean) / scale)
    network = replace(task.network, n_reference=25)
    outputs = network(trained.posteriors[0], torch.cat([x[:25], x[TEST]]))[25:]
    torch.testing.assert_close(together.log_probs[0], outputs.log_softmax(-1))


def test_final_pass_sees_every_image_once(data, monkeypatch):
    monkeypatch.setattr(series, "POINTS_AT_ONCE", 10)
    task = Task("tiny", Categorical(3), PreActResNet(IMAGE, 3, widths=(4,), blocks=1))
    seen = []

    class Swept(Spy):
        def sweep(self, problem, state, rows):
            seen.append((problem.network.n_reference, rows.y[rows.present == 1], len(rows.y)))
            return state

    train(data, Swept(), task)
    assert [n_reference for n_reference, _, _ in seen] == [25, 25, 25]
    np.testing.assert_array_equal(torch.cat([y for _, y, _ in seen]), np.arange(25) % 3)
    assert [length for _, _, length in seen] == [35, 35, 30]


def test_images_outside_the_data_set_are_predicted(data):
    trained = train(data, MAP())
    (own,) = trained.predict([TEST], 1)
    (given,) = trained.predict([np.arange(17)], 1, data.x[30:47])
    assert torch.equal(own.log_probs, given.log_probs)


def test_every_fit_needs_rows_to_predict_at(data):
    fits = [Fit(np.arange(25), HPARAMS, seed) for seed in (7, 8)]
    trained = train(data, MAP(), fits=fits)
    assert len(list(trained.predict([TEST, TEST], 1))) == 2
    with pytest.raises(ValueError, match="shorter"):
        list(trained.predict([TEST], 1))


def test_sequential_fits_are_independent(data):
    fits = [Fit(np.arange(25), HPARAMS, 1), Fit(np.arange(30, 55), HPARAMS | {"lr": 0.1}, 2)]
    together = list(train(data, methods.get("vifa"), fits=fits).predict([TEST, TEST[:3]], 4))
    for fit, rows, ours in zip(fits, (TEST, TEST[:3]), together, strict=True):
        (alone,) = train(data, methods.get("vifa"), fits=[fit]).predict([rows], 4)
        assert torch.equal(ours.log_probs, alone.log_probs)


def test_methods_see_annealed_and_full_learning_rates(data, monkeypatch):
    seen, update = [], MAP.update

    def watched(method, problem, *arguments):
        seen.append((problem.hparams.lr.item(), problem.full_lr.item()))
        return update(method, problem, *arguments)

    monkeypatch.setattr(MAP, "update", watched)
    fit = Fit(np.arange(25), {"lr": 0.5, "prior_precision": 2.0}, 0)
    train_sequentially(MAP(), LINEAR, data, [fit], Schedule(25, 25, 4, 1), channels=2, rate=cosine)
    np.testing.assert_allclose(seen, [(0.5 * cosine(step, Plan(4, 1.0)), 0.5) for step in range(1, 5)], rtol=1e-6)


def test_method_without_learning_rate_accepts_any_rate_schedule(data):
    rows = np.arange(25)
    fit = Fit(rows, {}, 0)
    fits = train_sequentially(
        methods.get("constant"), LINEAR, data, [fit], Schedule(25, 12, 3, 1), channels=2, rate=cosine
    )
    (predictive,) = fits.predict([np.arange(3)], 1)
    frequencies = np.bincount(data.y.numpy()[rows].astype(int), minlength=3) / 25
    np.testing.assert_allclose(predictive.log_probs.exp()[0], np.tile(frequencies, (3, 1)), rtol=1e-6)


def test_logistic_regression_equals_scikit_learn(data):
    fit = Fit(np.arange(25), {"lr": 0.05, "prior_precision": 2.0}, 0)
    schedule = Schedule(25, 25, 600, 1)
    trained = train_sequentially(MAP(), LINEAR, data, [fit], schedule, channels=2, rate=cosine, dtype=torch.float64)
    mean, scale = Standardisation.of_channels(data.x.numpy(), fit.rows, 2)
    x = (data.x.numpy() - mean) / scale
    # scikit-learn does not penalise biases, so they are the weights of one more input.
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs.fit(np.c_[x[:25], np.ones(25)], data.y.numpy()[:25])
    (ours,) = trained.predict([TEST], 1)
    np.testing.assert_allclose(ours.log_probs[0], theirs.predict_log_proba(np.c_[x, np.ones(60)][TEST]), atol=1e-4)


ON_IMAGES = [name for name in methods.names() if "images" in methods.get(name).suites]


@pytest.mark.parametrize("name", [name for name in ON_IMAGES if name != methods.BASELINE])  # which has no network
def test_mixed_precision_keeps_dtypes_and_nearly_the_numbers(data, name):
    method = methods.get(name).suited_to(TASK)
    space = method.image_space(TASK)
    hparams = {key: getattr(one, "low", None) or one.choices[0] for key, one in space.items()}
    fits = [Fit(np.arange(25), hparams, 7)]
    long, short = (train(data, method, fits=fits, updates=2, short=short) for short in (None, torch.bfloat16))
    pairs = list(zip(*(tree_leaves(one.posteriors) for one in (long, short)), strict=True))
    assert all(one.dtype == other.dtype for one, other in pairs)
    assert not all(torch.equal(*pair) for pair in pairs)
    ours, theirs = (next(one.predict([TEST], 5)).log_probs.exp() for one in (long, short))
    torch.testing.assert_close(ours, theirs, rtol=0.1, atol=0.05)


def test_progress_callback_counts_updates_of_all_fits(data):
    told = []
    train(data, MAP(), fits=[Fit(np.arange(25), HPARAMS, seed) for seed in (0, 1)], updates=3, on_update=told.append)
    assert told == [1, 2, 3, 4, 5, 6]
