"""Impossible arrays are refused with a remedy; targets far from 0 are learned as those near 0."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array

from lockstep_bench import PosteriorClassifier, PosteriorRegressor
from lockstep_bench.bench import arrays
from lockstep_bench.bench.arrays import storage
from lockstep_bench.bench.arrays.posterior import Posterior
from lockstep_bench.methods.maths.predictive import Histogram, NormalMixtures, Normals, Quantiles, StudentT

GIVEN = {"lr": 0.02, "prior_precision": 0.1, "noise_precision": 50.0}
SHORT = {"preset": "quick", "settings": {"max_minibatches": 120}, "random_state": 0}
PROTOCOL = arrays.protocol_of("quick", {"max_minibatches": 60})
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = 3 * X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=60)
LABELS = (X[:, 0] > 0).astype(int)
NAN = float("nan")


@pytest.fixture(scope="module")
def near_zero() -> np.ndarray:
    return PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y).predict(X)


@pytest.mark.parametrize("offset", [1e9, -1e9, 1e6, 1e12, 2.0**50, 1e15])
def test_large_target_offsets_do_not_change_learning(near_zero, offset):
    fitted = PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y + offset)
    lost = np.spacing(abs(offset))  # by the addition itself
    np.testing.assert_allclose(fitted.predict(X) - offset, near_zero, atol=1e-4 + 2 * lost)
    assert fitted.score(X, Y + offset) == pytest.approx(
        PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y).score(X, Y), abs=1e-3 + 50 * lost
    )


def test_draws_and_quantiles_survive_large_target_offsets():
    fitted = PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y + 1e9)
    mean, sd = fitted.predict(X[:5], return_std=True)
    np.testing.assert_allclose(fitted.predict_quantiles(X[:5], 0.5), mean, atol=1e-3)
    draws = fitted.sample(X[:5], 2000, random_state=0)
    np.testing.assert_allclose(draws.mean(1), mean, atol=5 * sd.max() / np.sqrt(2000))
    assert len(np.unique(draws)) > 0.99 * draws.size


def test_tuned_hparams_survive_large_target_offsets():
    tuned = [arrays.tune(arrays.regression(X, Y + offset), "map", PROTOCOL) for offset in (0.0, 1e9)]
    assert tuned[1].hparams == pytest.approx(tuned[0].hparams, rel=1e-5)
    assert tuned[1].score == pytest.approx(tuned[0].score, abs=1e-4)


def test_saved_posterior_keeps_the_target_offset(tmp_path):
    posterior = arrays.fit(arrays.regression(X, Y + 1e9), "map", PROTOCOL, GIVEN)
    storage.save(posterior, tmp_path / "far.npz")
    loaded, _ = storage.load(tmp_path / "far.npz")
    assert torch.equal(loaded.predict(X).mean, posterior.predict(X).mean)


@pytest.mark.parametrize(
    ("predictive", "moved"),
    [
        (Normals(torch.zeros(1, 2), torch.ones(1, 2)), "mean"),
        (NormalMixtures(*torch.zeros(3, 1, 2, 4)), "means"),
        (StudentT(*torch.full((3, 1, 2), 3.0)), "location"),
        (Quantiles.of(torch.tensor([0.1, 0.9]), torch.tensor([[1.0, 2.0]])), "values"),
        (Histogram.of(torch.tensor([0.0, 1.0]), torch.tensor([[1.0]])), "edges"),
    ],
)
def test_every_predictive_type_gets_the_target_offset_back(monkeypatch, predictive, moved):
    posterior = arrays.fit(arrays.regression(X, Y + 1e9), "map", PROTOCOL, GIVEN)
    monkeypatch.setattr(type(posterior.fits), "predict", lambda *_: iter([predictive]))
    for name, part in posterior.predict(X)._asdict().items():
        expected = getattr(predictive, name).double() + (posterior.offset if name == moved else 0)
        assert torch.equal(part.double(), expected)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, Y[:, None], r"y should have the shape \(N,\), got \(60, 1\); give y\[:, 0\]"),
        (X, Y[:59], "y should have the length 60, one for each of the rows of x, got 59"),
        (X[:, 0], Y, r"x should have the shape \(N, P\), got \(60,\)"),
        (X[:, :0], Y, "at least one row and one column"),
        (X[:0], Y[:0], "at least one row and one column"),
        (X + 0j, Y, "x should be an array of real numbers, got the type complex128"),
        (X.astype(str), Y, "x should be an array of real numbers, got the type <U"),
        (X.astype(object), Y, "x should be an array of real numbers, got the type object"),
        (csr_array(X), Y, "x should be an array of real numbers, got a csr_array"),
        (X, np.where(Y > 0, Y, NAN), "y should hold finite numbers, got NaN or infinite ones at"),
        (np.where(X > 0, X, np.inf), Y, "x should hold finite numbers"),
        (X, np.ma.array(Y, mask=Y > 0), "y should have a number everywhere, got .* masked values"),
        (X, (40 * Y + 1e9).astype(np.float32), "float32 has steps of 64 there, too wide"),
        (X, 16 * np.round(Y) + 1e17, "float64 has steps of 16 there, too wide"),
        (X, 1e-20 * Y, "standard deviation between 1e-12 and 1e[+]12, got .*; give it in another unit"),
        (X, 1e20 * Y, "give it in another unit"),
        (X, Y.astype("datetime64[s]"), "y should be an array of real numbers, got the type datetime64"),
    ],
)
def test_invalid_regression_arrays_are_refused(x, y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        arrays.regression(x, y)


@pytest.mark.parametrize("precisions", [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (NAN, 1.0), ("1", 2.0)])
def test_invalid_noise_ranges_are_refused(precisions):
    with pytest.raises((TypeError, ValueError), match="noise_precisions should"):
        arrays.regression(X, Y, precisions)


@pytest.mark.parametrize(
    ("labels", "n_classes", "message"),
    [
        (
            LABELS * 0.5,
            2,
            "labels should hold class numbers 0 to 1, got 0.5 at the first of .*; number the classes",
        ),
        (LABELS + 1, 2, "class numbers 0 to 1, got 2 at"),
        (LABELS - 1, 2, "class numbers 0 to 1, got -1 at"),
        (LABELS * 2 - 1, 2, "class numbers 0 to 1, got -1 at"),
        (LABELS * 3, 3, "class numbers 0 to 2, got 3 at"),
        (np.array(["no", "yes"])[LABELS], 2, "labels should be an array of real numbers, got the type <U3"),
        (np.eye(2)[LABELS], 2, r"labels should have the shape \(n,\), got \(60, 2\)"),
        (LABELS, 1, "n_classes should be an integer of at least 2, got 1"),
        (LABELS, 2.0, "n_classes should be an integer of at least 2, got 2.0"),
    ],
)
def test_invalid_class_labels_are_refused(labels, n_classes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        arrays.classification(X, labels, n_classes)


@pytest.mark.parametrize("x", [X, X.astype(np.float32), X.tolist(), torch.tensor(X), pd.DataFrame(X), X > 0])
@pytest.mark.parametrize("y", [Y, torch.tensor(Y), pd.Series(Y), Y.tolist(), Y > 0, np.round(100 * Y).astype(int)])
def test_arrays_of_other_libraries_are_accepted(x, y):
    data = arrays.regression(x, y)
    np.testing.assert_allclose(data.dataset.y + data.offset, np.asarray(y, dtype=float))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, bool, torch.tensor, list])
def test_integer_labels_of_any_dtype_are_accepted(kind):
    labels = LABELS.astype(kind) if isinstance(kind, type) and kind is not list else kind(LABELS)
    np.testing.assert_array_equal(arrays.classification(X, labels, np.int64(2)).dataset.y, LABELS)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return arrays.fit(arrays.regression(X, Y), "map", PROTOCOL, GIVEN)


@pytest.mark.parametrize(
    ("x", "n_samples", "message"),
    [
        (X[:, :1], None, r"the 2 columns of the training data, got \(60, 1\)"),
        (np.hstack([X, X]), None, r"the 2 columns of the training data, got \(60, 4\)"),
        (X[:, :0], None, r"the 2 columns of the training data, got \(60, 0\)"),
        (X[:0], None, "at least one row"),
        (X[0], None, r"x should have the shape \(n, P\), got \(2,\)"),
        (X[None], None, r"x should have the shape \(n, P\), got \(1, 60, 2\)"),
        (X * NAN, None, "x should hold finite numbers"),
        (X.astype(str), None, "real numbers"),
        (X, 0, "n_samples should be an integer of at least 1, got 0"),
        (X, 2.5, "n_samples should be an integer of at least 1, got 2.5"),
        (X, True, "n_samples should be an integer of at least 1, got True"),
    ],
)
def test_invalid_input_arrays_are_refused(posterior, x, n_samples, message):
    with pytest.raises((TypeError, ValueError), match=message):
        posterior.predict(x, n_samples)


@pytest.mark.parametrize("n_samples", [5, np.int64(5), np.uint8(5)])
def test_number_of_samples_may_be_a_numpy_integer(n_samples):
    posterior = arrays.fit(arrays.regression(X, Y), "mfvi", PROTOCOL, GIVEN)
    assert len(posterior.predict(X, n_samples).mean) == 5


@pytest.mark.parametrize("epochs", [20, np.int64(20), np.int32(20), np.uint8(20), np.array(20), torch.tensor(20)])
def test_numpy_settings_equal_python_settings(epochs):
    assert arrays.protocol_of("quick", {"epochs": epochs}) == arrays.protocol_of("quick", {"epochs": 20})


@pytest.mark.parametrize("epochs", [20.0, np.float64(20), True, np.bool_(True), "20", np.int64(0)])
def test_non_integer_settings_are_refused(epochs):
    with pytest.raises(ValueError, match=r"epochs is .*; it must be an integer of at least 1"):
        arrays.protocol_of("quick", {"epochs": epochs})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": (X, Y)}, "data should be what bench.arrays.regression, .* returns, got a tuple"),
        ({"protocol": "quick"}, "protocol should be what bench.arrays.protocol_of returns, got a str"),
        ({"seed": 0.5}, "seed should be an integer of at least 0, got 0.5"),
        ({"seed": -1}, "seed should be an integer of at least 0, got -1"),
        ({"hparams": {**GIVEN, "lr": NAN}}, "should hold finite numbers"),
        ({"hparams": {**GIVEN, "lr": "0.1"}}, "should be an array of real numbers"),
        ({"hparams": {**GIVEN, "lr": [0.1, 0.2]}}, r"should have the shape \(\), got \(2,\)"),
    ],
)
def test_invalid_fit_arguments_are_refused(changes, message):
    arguments = {"data": arrays.regression(X, Y), "method": "map", "protocol": PROTOCOL, "hparams": GIVEN, **changes}
    with pytest.raises((TypeError, ValueError), match=message):
        arrays.fit(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diabetes", 99), "split should be 0 to 19, the splits of diabetes, got 99"),
        (("diabetes", -1), "split should be an integer of at least 0, got -1"),
        (("diabetes", 0.0), "split should be an integer of at least 0, got 0.0"),
        (("diabetes", 0, "uic"), "suite 'uic' is unknown; did you mean 'uci'"),
        (("mnist",), "mnist is a set of images"),
        (("diabtes",), "did you mean 'diabetes'"),
    ],
)
def test_unknown_data_sets_and_splits_are_refused(arguments, message):
    with pytest.raises((TypeError, ValueError, LookupError), match=message):
        arrays.registered(*arguments)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([1, 2]),
        np.array([-1, 1]),
        np.array([False, True]),
        np.array([0.0, 5.0]),
        np.array(["no", "yes"], object),
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    ],
    ids=str,
)
def test_classifier_learns_labels_of_any_single_type(classes):
    fitted = PosteriorClassifier("map", hparams={"lr": 0.02, "prior_precision": 0.1}, **SHORT).fit(X, classes[LABELS])
    np.testing.assert_array_equal(fitted.classes_, classes)
    assert (fitted.predict(X) == classes[LABELS]).mean() > 0.9


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (np.array([0.0, 0.5]), "Unknown label type: continuous"),
        (np.array([None, "yes"]), "objects of NoneType, str. y should be an array of integers"),
        (np.array([1, "yes"], object), "label type: objects of int, str"),
        (np.array([True, False], object), "label type: objects of bool"),
        (np.array([0.0, NAN]), "NaN"),
    ],
    ids=str,
)
def test_labels_of_mixed_types_are_refused(classes, message):
    with pytest.raises(ValueError, match=message):
        PosteriorClassifier("map", **SHORT).fit(X, classes[LABELS])


def test_negative_predictive_variance_raises_and_names_the_method(monkeypatch):
    fitted = PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y)
    normals = Normals(torch.zeros(1, 64), -torch.ones(1, 64))
    monkeypatch.setattr(Posterior, "predict", lambda self, x: normals)
    with pytest.raises(ArithmeticError, match="map predicts no distribution: variance is negative at 64 of 64 points"):
        fitted.predict(X)
