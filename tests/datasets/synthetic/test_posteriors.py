"""The sets whose posterior is known: what they are drawn from, and what their descriptions promise."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.reference.problem import maximal_evidence
from lockstep_bench.datasets.synthetic import posteriors, toy

SYNTHETIC = ("synthetic-linear-2d", "synthetic-linear-2d-released", "synthetic-logistic-2d")


@pytest.mark.parametrize("name", [*SYNTHETIC, "toy"])
def test_splits_are_distinct_reproducible_draws(name):
    first, second = datasets.load(name), datasets.load(name)
    assert first.data_sha256 == second.data_sha256
    used = np.concatenate([np.concatenate([split.train, split.test]) for split in first.splits])
    np.testing.assert_array_equal(np.sort(used), np.arange(len(first.x)))
    tops = {tuple(first.x[split.train[:5]].ravel()) for split in first.splits}
    assert len(tops) == len(first.splits)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_inputs_have_unit_variance_and_covariance_one_half(name):
    x = datasets.load(name).x
    np.testing.assert_allclose(np.cov(x.T), [[1, 0.5], [0.5, 1]], atol=5 / np.sqrt(len(x)))


@pytest.mark.parametrize("draw", [posteriors.draw_linear, posteriors.draw_released])
def test_linear_targets_follow_prior_weights_and_noise(draw):
    weights, noise = [], []
    for seed in range(60):
        x, y = draw(seed, 200)
        theta, residuals, *_ = np.linalg.lstsq(x, y, rcond=None)
        weights.append(theta)
        noise.append(residuals[0] / (200 - 2))
    assert np.mean(noise) == pytest.approx(1 / posteriors.BETA, rel=0.06)
    assert np.var(weights) == pytest.approx(1 / posteriors.ALPHA, rel=0.5)


def test_logistic_targets_follow_their_probabilities():
    x, y = posteriors.draw_logistic(4, 20_000)
    assert set(np.unique(y)) == {0.0, 1.0}
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf, fit_intercept=False).fit(x, y)
    probability = fitted.predict_proba(x)[:, 1]
    for low in (0.1, 0.4, 0.7):
        inside = (probability > low) & (probability < low + 0.2)
        error = 4 * np.sqrt(0.25 / inside.sum())
        assert y[inside].mean() == pytest.approx(probability[inside].mean(), abs=error)


def test_every_data_set_states_its_true_model():
    for source in posteriors.sources():
        assert source.model is not None
        assert source.suites == ("posterior",)
        of_uci = source.name.endswith(("-linear", "-linear-released"))
        assert (source.model.prior_precision is None) == of_uci
        assert not source.model.hidden or source.name.endswith("-net")


def test_half_split_sets_use_the_original_data():
    for name, ending in (("yacht", "linear"), ("a1a", "logistic")):
        ours, original = (datasets.entry(one) for one in (f"{name}-{ending}", name))
        assert (ours.files, ours.n_rows, ours.folder) == (original.files, original.n_rows, original.folder)
        assert ours.notes != original.notes


def test_data_set_sizes_equal_those_of_table_5():
    sizes = {"energy": (768, 8), "boston": (506, 13), "concrete": (1030, 8), "yacht": (308, 6)}
    sources = {name: datasets.entry(f"{name}-linear-released") for name in sizes}
    assert {name: (source.n_rows, source.n_features) for name, source in sources.items()} == sizes


@pytest.mark.parametrize(
    ("name", "counted"),
    [("australian-logistic", 345), ("breast-cancer-logistic", 341), ("a1a-all-logistic", 1605)],
)
def test_numbers_of_rows_equal_those_of_table_8(name, counted, load_published):
    assert len(load_published(name).splits[0].train) == counted


@pytest.mark.parametrize(
    ("name", "alpha", "beta"),
    [
        ("energy", 0.0608, 0.1246),
        ("boston", 0.2859, 0.0429),
        ("concrete", 0.0254, 0.0101),
        ("yacht", 0.0291, 0.0114),
    ],
)
def test_released_splits_reproduce_precisions_of_table_6(name, alpha, beta, load_published):
    loaded = load_published(f"{name}-linear-released")
    rows = loaded.splits[0].train
    x = loaded.x[rows]
    found = maximal_evidence((x - x.mean(0)) / x.std(0), loaded.y[rows])
    assert tuple(np.round(found, 4)) == (alpha, beta)
    assert sorted([*rows, *loaded.splits[0].test]) == list(range(len(loaded.y)))
    assert len({split.train.tobytes() for split in loaded.splits}) == 1


def test_a1a_all_logistic_has_identical_training_and_test_rows(load_published):
    loaded = load_published("a1a-all-logistic")
    (split, *_) = loaded.splits
    np.testing.assert_array_equal(loaded.x[split.train], loaded.x[split.test])
    np.testing.assert_array_equal(loaded.y[split.train], loaded.y[split.test])


def test_toy_gap_has_grid_points_but_no_data():
    loaded = datasets.load("toy")
    x = np.abs(loaded.x[:, 0] + 0.1)  # the gap is [-0.7, 0.5]
    assert x.min() > 0.6
    assert (np.abs(loaded.ood[:, 0] + 0.1) < 0.6).sum() > 50
    noise = loaded.y - np.cos(4 * loaded.x[:, 0] + 0.8)
    assert noise.var() == pytest.approx(toy.NOISE_VARIANCE, rel=0.1)
    for split in loaded.splits:
        assert (loaded.x[split.train] < 0).sum() == toy.N_CLUSTER
