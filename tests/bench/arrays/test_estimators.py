"""The estimators predict, score and draw what the predictive says, alone and inside scikit-learn's tools."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax
from scipy.stats import kstest, norm, t
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from lockstep_bench import PosteriorClassifier, PosteriorRegressor
from lockstep_bench.bench.arrays import Posterior
from lockstep_bench.bench.evaluation.tuning.tuner import Diverged
from lockstep_bench.methods.maths.predictive import Classes, StudentT

HPARAMS = {"lr": 0.02, "prior_precision": 0.1}
GIVEN = {**HPARAMS, "noise_precision": 50.0}
SHORT = {"preset": "quick", "settings": {"trials": 2, "max_minibatches": 120}, "random_state": 0}


def wave(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(n, 1))
    return x, 5 + np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=n)


def rings(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 2))
    return x, np.array(["inner", "outer", "rim"])[np.digitize(np.hypot(*x.T), [0.8, 1.6])]


@pytest.fixture(scope="module")
def regressor() -> PosteriorRegressor:
    return PosteriorRegressor("mfvi", hparams=GIVEN, **SHORT).fit(*wave())


@pytest.fixture(scope="module")
def classifier() -> PosteriorClassifier:
    return PosteriorClassifier("mfvi", hparams=HPARAMS, **SHORT).fit(*rings())


def components(regressor: PosteriorRegressor, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    predictive = regressor.posterior_.predict(x)
    return predictive.mean.double().numpy(), predictive.variance.double().sqrt().numpy()


def test_importing_bench_does_not_import_torch():
    code = (
        "import sys, lockstep_bench; assert 'torch' not in sys.modules; from lockstep_bench import PosteriorRegressor"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_predicted_mean_and_sd_are_those_of_the_mixture(regressor):
    x = np.linspace(-3, 3, 11)[:, None]
    means, sds = components(regressor, x)
    mean, sd = regressor.predict(x, return_std=True)
    np.testing.assert_allclose(mean, means.mean(0), rtol=1e-6)
    np.testing.assert_allclose(sd**2, (sds**2 + means**2).mean(0) - means.mean(0) ** 2, rtol=1e-4)
    np.testing.assert_array_equal(regressor.predict(x), mean)


def test_score_is_the_mean_log_density(regressor):
    x, y = wave()
    densities = norm.pdf(y, *components(regressor, x)).mean(0)
    assert regressor.score(x, y) == pytest.approx(np.log(densities).mean(), rel=1e-5)


def test_predicted_quantiles_invert_the_distribution_function(regressor):
    x, levels = np.linspace(-3, 3, 7)[:, None], [0.05, 0.5, 0.9]
    values = regressor.predict_quantiles(x, levels)
    assert values.shape == (7, 3)
    for level, column in zip(levels, values.T, strict=True):
        np.testing.assert_allclose(norm.cdf(column, *components(regressor, x)).mean(0), level, atol=1e-5)
    np.testing.assert_array_equal(regressor.predict_quantiles(x, 0.9), values[:, 2])


@pytest.mark.parametrize("q", [0.0, 1.5, [0.5, 1.0], [[0.5]]])
def test_quantile_levels_outside_0_to_1_are_refused(regressor, q):
    with pytest.raises(ValueError, match="between 0 and 1"):
        regressor.predict_quantiles([[0.0]], q)


def test_draws_have_the_moments_of_the_joint_predictive(regressor):
    x = np.array([[0.0], [0.1]])
    draws = regressor.sample(x, 20_000, random_state=0)
    means, sds = components(regressor, x)
    assert draws.shape == (2, 20_000)
    expected = np.cov(means, rowvar=False, bias=True) + np.diag((sds**2).mean(0))
    stderr = 4 * expected[0, 0] / math.sqrt(20_000)
    np.testing.assert_allclose(np.cov(draws), expected, atol=stderr)
    assert expected[0, 1] > 2 * stderr  # the draws of two near points share their weights
    np.testing.assert_array_equal(draws, regressor.sample(x, 20_000, random_state=0))


def test_student_t_draws_follow_the_predictive_distribution(monkeypatch):
    def predict(self, x):
        return StudentT(*(torch.full((1, len(x)), value) for value in (5.0, 3.0, 2.0)))

    fitted = PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(*wave())
    monkeypatch.setattr(Posterior, "predict", predict)
    draws = fitted.sample([[0.0], [1.0]], 2000, random_state=0)
    assert draws.shape == (2, 2000)
    assert kstest(draws.ravel(), t(5, 3, 2).cdf).pvalue > 0.01
    assert abs(np.corrcoef(draws)[0, 1]) < 0.1


def test_draws_at_all_points_share_a_weight_sample(monkeypatch):
    def predict(self, x):
        return StudentT(
            *(torch.tensor([low, high])[:, None].expand(2, len(x)) for low, high in ((5, 9.0), (-40.0, 40), (2, 1.0)))
        )

    fitted = PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(*wave())
    monkeypatch.setattr(Posterior, "predict", predict)
    draws = fitted.sample([[0.0], [1.0]], 2000, random_state=0)
    np.testing.assert_array_equal(draws[0] > 0, draws[1] > 0)
    for chosen, exact in ((draws[:, draws[0] < 0], t(5, -40, 2)), (draws[:, draws[0] > 0], t(9, 40, 1))):
        assert kstest(chosen.ravel(), exact.cdf).pvalue > 0.01
        assert abs(np.corrcoef(chosen)[0, 1]) < 0.15


def test_probabilities_are_the_mean_over_weight_samples(classifier, monkeypatch):
    x, y = rings()
    weights = np.random.default_rng(2).normal(scale=3, size=(4, 2, 3))  # four samples of a linear classifier
    monkeypatch.setattr(Posterior, "predict", lambda self, x: Classes(torch.tensor(x @ weights).log_softmax(-1)))
    probabilities = softmax(x @ weights, axis=-1).mean(0)
    np.testing.assert_allclose(classifier.predict_proba(x), probabilities, rtol=1e-12)
    labels = np.array(["inner", "outer", "rim"])
    np.testing.assert_array_equal(classifier.predict(x), labels[probabilities.argmax(1)])
    true = probabilities[y[:, None] == labels]
    assert classifier.score(x, y) == pytest.approx(np.log(true).mean(), rel=1e-12)


def test_classifier_learns_ring_shaped_classes(classifier):
    x, y = rings()
    assert (classifier.predict(x) == y).mean() > 0.8  # the most frequent class has less than half of the points


def test_chunked_predictions_equal_unchunked_ones(regressor, classifier, monkeypatch):
    x = np.random.default_rng(3).uniform(-2, 2, size=(300, 2))
    y, labels = x[:, 0], rings(300)[1]
    results = [
        lambda: regressor.predict(x[:, :1], return_std=True),
        lambda: regressor.predict_quantiles(x[:, :1], [0.2]),
    ]
    results += [lambda: regressor.score(x[:, :1], y), lambda: regressor.sample(x[:, :1], 3)]
    results += [lambda: classifier.predict_proba(x), lambda: classifier.score(x, labels)]
    whole = [result() for result in results]
    monkeypatch.setattr("lockstep_bench.bench.arrays.base.ROWS_AT_ONCE", 64)
    for result, expected in zip(results, whole, strict=True):
        np.testing.assert_allclose(result(), expected, rtol=1e-4, atol=1e-5)


def test_score_refuses_labels_unseen_in_fit(classifier):
    with pytest.raises(ValueError, match="'square', which was not among"):
        classifier.score([[0.0, 0.0]], ["square"])


def test_single_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        PosteriorClassifier("map", **SHORT).fit(rings()[0], np.zeros(120))


@pytest.mark.parametrize("method", ["map", "mfvi(tempering=0.1)", "ensemble:map"])
def test_hparams_that_are_not_given_are_tuned(method):
    fitted = PosteriorRegressor(method, hparams={"lr": 0.02}, **SHORT).fit(*wave())
    assert fitted.hparams_["lr"] == 0.02
    assert set(fitted.hparams_) == {"lr", "prior_precision", "noise_precision"}
    assert math.isfinite(fitted.validation_nmll_)
    assert 0 < fitted.tune_seconds_ < fitted.fit_seconds_


def test_heteroscedastic_noise_follows_the_inputs():
    x = np.random.default_rng(0).uniform(-1, 1, size=(400, 1))
    y = np.where(x[:, 0] > 0, 1.0, 0.1) * np.random.default_rng(1).normal(size=400)
    settings = {"preset": "quick", "settings": {"max_minibatches": 1500}, "random_state": 0}
    fitted = PosteriorRegressor("map", hparams=HPARAMS, likelihood="heteroscedastic", **settings).fit(x, y)
    _, sd = fitted.predict([[-0.5], [0.5]], return_std=True)
    assert sd[0] < 0.3 < 0.6 < sd[1]


def test_network_has_the_given_layers():
    fitted = PosteriorRegressor("map", hparams=GIVEN, hidden=(7, 5), activation="tanh", **SHORT).fit(*wave())
    network = fitted.posterior_.fits.stack.model.network
    assert (network.hidden, network.activation) == ((7, 5), "tanh")
    assert fitted.posterior_.fits.n_weights == 1 * 7 + 7 + 7 * 5 + 5 + 5 * 1 + 1


def test_fits_with_the_same_seed_are_equal():
    x, y = wave()
    means = [PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(x, y).predict(x) for _ in range(2)]
    np.testing.assert_array_equal(*means)
    other = PosteriorRegressor("map", hparams=GIVEN, **{**SHORT, "random_state": 1}).fit(x, y)
    assert (other.predict(x) != means[0]).any()


def test_generator_as_random_state_changes_every_fit():
    x, y = wave()
    generator = np.random.RandomState(0)
    settings = {**SHORT, "random_state": generator}
    means = [PosteriorRegressor("map", hparams=GIVEN, **settings).fit(x, y).predict(x) for _ in range(2)]
    assert (means[0] != means[1]).any()


def test_pipelines_cross_validate_the_log_density():
    """The method `linear` is scikit-learn's `BayesianRidge` on standardised data, which is scored here by hand."""
    x, y = wave()
    scores = cross_val_score(make_pipeline(PolynomialFeatures(5), PosteriorRegressor("linear", **SHORT)), x, y, cv=2)
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0)  # no priors of the precisions
    for score, test in zip(scores, (slice(40), slice(40, 80)), strict=True):
        train = np.setdiff1d(np.arange(80), np.arange(80)[test])
        ridge = make_pipeline(
            PolynomialFeatures(5), StandardScaler(), BayesianRidge(max_iter=10_000, tol=1e-12, **flat)
        )
        mean, sd = ridge.fit(x[train], y[train]).predict(x[test], return_std=True)
        assert score == pytest.approx(norm.logpdf(y[test], mean, sd).mean(), rel=1e-3)


def test_grid_search_chooses_the_better_likelihood():
    x, y = wave()
    grid = {"hparams": [GIVEN, {**GIVEN, "noise_precision": 0.001}]}
    search = GridSearchCV(PosteriorRegressor("map", **SHORT), grid, cv=2).fit(x, y)
    assert search.best_params_["hparams"] == GIVEN


def test_predict_checks_the_data_frames_columns():
    x, y = wave()
    fitted = PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(pd.DataFrame(x, columns=["age"]), y)
    assert list(fitted.feature_names_in_) == ["age"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame(x, columns=["size"]))


def test_error_on_missing_values_names_the_column():
    x, y = rings()
    frame = pd.DataFrame(x, columns=["age", "size"])
    frame.loc[3:5, "size"] = np.nan
    classifier = PosteriorClassifier("map", hparams=HPARAMS, **SHORT)
    with pytest.raises(ValueError, match=r"NaN in 'size' \(3 rows\); fill them"):
        classifier.fit(frame, y)
    fitted = classifier.fit(frame.fillna(0), y)
    with pytest.raises(ValueError, match="NaN in 'size'"):
        fitted.predict(frame)


def test_error_on_text_columns_names_the_column():
    frame = pd.DataFrame({"age": np.arange(40.0), "city": ["Rome", "Oslo"] * 20, "open": [True, False] * 20})
    regressor = PosteriorRegressor("map", hparams=GIVEN, **SHORT)
    with pytest.raises(ValueError, match="not numeric, 'city'; encode them"):
        regressor.fit(frame, np.arange(40.0))
    encoder = ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder="passthrough")
    make_pipeline(encoder, regressor).fit(frame, np.arange(40.0))


DAYS = pd.date_range("2020-01-01", periods=40)
CITIES = ["Rome", "Oslo"] * 20


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS.tz_localize("UTC"),
        DAYS - DAYS[0],
        DAYS.to_period("M"),
        pd.Series(DAYS.date),
        DAYS.astype(object),
    ],
    ids=["dates", "dates of a time zone", "durations", "periods", "date objects", "timestamp objects"],
)
@pytest.mark.parametrize("others", [{"age": np.arange(40.0)}, {}], ids=["and numbers", "alone"])
def test_error_on_date_columns_names_the_column(dates, others):
    frame = pd.DataFrame({**others, "sold": dates})
    with pytest.raises(ValueError, match="not numeric, 'sold'; turn dates into numbers"):
        PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(frame, np.arange(40.0))


def test_array_of_dates_is_refused():
    with pytest.raises(ValueError, match=r"X holds dates or durations \(datetime64.*turn dates into numbers"):
        PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(DAYS.to_numpy()[:, None], np.arange(40.0))


@pytest.mark.parametrize("categories", [[1, 2] * 20, ["1", "2"] * 20, CITIES], ids=["integers", "digits", "texts"])
def test_error_on_categories_names_the_column(categories):
    frame = pd.DataFrame({"age": np.arange(40.0), "kind": pd.Categorical(categories)})
    with pytest.raises(ValueError, match=r"not numeric, 'kind'; encode them.*; convert .* astype\(float\)$"):
        PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(frame, np.arange(40.0))


def test_error_on_dates_and_texts_has_both_remedies():
    frame = pd.DataFrame({"sold": DAYS, "age": np.arange(40.0), "city": CITIES})
    with pytest.raises(ValueError, match=r"not numeric, 'city', 'sold'; encode texts .*; turn dates into numbers"):
        PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(frame, np.arange(40.0))


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_error_on_text_targets_names_the_classifier(regressor, kind):
    x, targets = np.arange(40.0)[:, None], kind(CITIES)
    for attempt in (PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit, regressor.score):
        with pytest.raises(ValueError, match=r"y holds texts.*; use PosteriorClassifier"):
            attempt(x, targets)


@pytest.mark.parametrize("random_state", ["a", 1.5, -1])
def test_error_on_random_state_lists_allowed_types(regressor, random_state):
    allowed = r"random_state should be an integer from 0 .*, a numpy.random.RandomState or None, got "
    with pytest.raises(ValueError, match=allowed):
        PosteriorRegressor("map", hparams=GIVEN, random_state=random_state).fit(*wave())
    with pytest.raises(ValueError, match=allowed):
        regressor.sample([[0.0]], random_state=random_state)


def test_diverged_fit_raises_and_suggests_smaller_learning_rate():
    with pytest.raises(Diverged, match="smaller learning rate"):
        PosteriorRegressor("map", hparams={**GIVEN, "lr": 1e30}, **SHORT).fit(*wave())


@pytest.mark.parametrize(
    ("y", "largest_rmse"),  # a constant has 0, 0.5 and 11.5
    [(np.full(40, 7.0), 0.05), (np.arange(40) > 20, 0.2), (1e6 + np.arange(40.0), 0.3)],
    ids=["equal", "boolean", "far from 0"],
)
def test_constant_boolean_and_far_targets_are_learned(y, largest_rmse):
    x = np.arange(40.0)[:, None]
    fitted = PosteriorRegressor("map", hparams=HPARAMS, **SHORT).fit(x, y)
    mean, sd = fitted.predict(x, return_std=True)
    assert np.sqrt(np.square(mean - y).mean()) < largest_rmse
    np.testing.assert_allclose(sd, fitted.hparams_["noise_precision"] ** -0.5, rtol=1e-5)  # all that MAP has


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "vfa"}, "did you mean 'vifa'"),
        ({"preset": "fast"}, "preset 'fast' is unknown"),
        ({"likelihood": "poisson"}, "likelihood is 'poisson'"),
        ({"hparams": {"lr": "fast"}}, "could not convert"),
        ({"hparams": {"momentum": 1.0}}, "there is no hyper-parameter 'momentum'"),
        ({"settings": {"epoch": 1}}, "did you mean 'epochs'"),
        ({"settings": {"hidden": "20"}}, "give the parameter hidden of the estimator"),
        ({"hidden": ()}, "hidden is ''"),
        ({"activation": "gelu"}, "activation is 'gelu'"),
        ({"device": "gpu"}, "devices 'gpu' cannot be read"),
    ],
)
def test_invalid_estimator_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        PosteriorRegressor(**params).fit(*wave())


def test_fewer_rows_than_folds_are_refused():
    with pytest.raises(ValueError, match="minimum of 5 is required"):
        PosteriorRegressor("map", preset="paper").fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])


def test_verbose_fits_print_their_duration(capsys):
    fitted = PosteriorRegressor("map", hparams={"lr": 0.02}, verbose=True, **SHORT).fit(*wave())
    last_line = capsys.readouterr().out.rpartition("\r")[2]
    seconds, tuning = f"{fitted.fit_seconds_:.1f}", f"{fitted.tune_seconds_:.1f}"
    assert last_line == f"map: {seconds} s, of which {tuning} s for 2 trials of 3 fits\n"


def test_fits_are_silent_by_default(capsys):
    PosteriorRegressor("map", hparams={"lr": 0.02}, **SHORT).fit(*wave())
    assert capsys.readouterr() == ("", "")
