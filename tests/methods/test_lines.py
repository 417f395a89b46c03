"""Lines of other libraries against closed forms; TabPFN and TabICL, whose weights are a download, against stubs."""

import subprocess
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.stats import norm

from lockstep_bench import methods
from lockstep_bench.bench import metrics
from lockstep_bench.methods.catalogue.rows import rows
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import HParams, Problem, Task
from lockstep_bench.methods.quantile import LEVELS, in_order

PACKAGES = {
    "ngboost": "ngboost",
    "lightgbm": "lightgbm",
    "quantile-forest": "quantile_forest",
    "conformal-ridge": "crepes",
    "tabpfn": "tabpfn",
    "tabicl": "tabicl",
}
ONE = torch.tensor(1.0, dtype=torch.float64)
TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(3))


def problem_of(**hparams: float) -> Problem:
    """Return a problem whose targets are 5 + 2 times the standardised ones."""
    values = HParams(**{name: value * ONE for name, value in hparams.items()})
    return Problem(MLP(3), Gaussian((0.1, 10.0)), values, 60 * ONE, 5 * ONE, 2 * ONE)


def data(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (n, 3), of which the first moves the mean of targets (n,), and the second their spread."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, 3))
    y = np.sin(2 * x[:, 0]) + 0.3 * np.exp(0.5 * x[:, 1]) * generator.standard_normal(n)
    return torch.tensor(x), torch.tensor(y)


def fitted(name: str, x, y, seed: int = 0, **hparams: float):
    """Return method, problem and posterior; skips the test where the library is missing."""
    pytest.importorskip(PACKAGES[name])
    method, problem = methods.get(name), problem_of(**hparams)
    return method, problem, method.fit(problem, x, y, seed)


def test_library_baselines_form_one_unranked_family():
    assert {name for name, row in rows().items() if row.family == "lines"} == PACKAGES.keys()
    assert PACKAGES.keys() < set(methods.UNRANKED)


@pytest.mark.parametrize("name", PACKAGES)
def test_missing_library_error_names_the_install_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, PACKAGES[name], None)
    method = methods.get(name)
    wanted = "'lockstep-bench[lines]'" if name not in ("tabpfn", "tabicl") else name
    reason = f"it needs {PACKAGES[name]}, which is not installed: pip install {wanted}"
    assert method.excludes(TASK) == reason
    assert method.excludes(replace(TASK, likelihood=Bernoulli())) == "no bernoulli likelihood"


def test_listing_baselines_imports_no_library():
    code = (
        "import sys; from lockstep_bench import methods; from lockstep_bench.methods.api import MLP, Gaussian, Task; "
        f"task, lines = Task('tiny', Gaussian((0.1, 10.0)), MLP(3)), [methods.get(name) for name in {list(PACKAGES)}]; "
        "[(line.search_space(task), line.excludes(task)) for line in lines]; "
        f"assert not {set(PACKAGES.values())} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ngboost_nll_equals_that_of_its_gaussians():
    (x, y), (at, targets) = data(60), data(20, seed=1)
    method, problem, model = fitted("ngboost", x, y, learning_rate=0.1, n_estimators=20, max_depth=3)
    predictive = method.predict(problem, model, at, None, 1)
    normal = model.pred_dist(at.numpy())
    loc, scale = 5 + 2 * normal.params["loc"], 2 * normal.params["scale"]
    wanted = -norm.logpdf(5 + 2 * targets.numpy(), loc, scale).mean()
    assert metrics.nmll(predictive, 5 + 2 * targets) == pytest.approx(wanted, rel=1e-12)
    assert np.std(scale) > 0  # it is predicted, too


def test_ngboost_without_information_predicts_target_gaussian():
    _, y = data(60)
    x = torch.zeros(60, 3, dtype=torch.float64)
    method, problem, model = fitted("ngboost", x, y, learning_rate=0.1, n_estimators=5, max_depth=3)
    predictive = method.predict(problem, model, x, None, 1)
    torch.testing.assert_close(predictive.mean[0], (5 + 2 * y.mean()).expand(60))
    torch.testing.assert_close(predictive.variance[0], (4 * y.var(correction=0)).expand(60))


def test_lightgbm_without_splits_predicts_target_quantiles():
    x, y = data(60)
    space = {"learning_rate": 0.1, "n_estimators": 3, "num_leaves": 8, "min_child_samples": 40}
    method, problem, model = fitted("lightgbm", x, y, **space)
    predictive = method.predict(problem, model, x[:2], None, 1)
    wanted = 5 + 2 * np.quantile(y.numpy(), predictive.levels[0, 0].numpy())
    np.testing.assert_allclose(predictive.values[0], [wanted, wanted], rtol=1e-6)


def test_lightgbm_reduces_pinball_loss_at_each_level():
    (x, y), (at, targets) = data(400), data(400, seed=1)
    space = {"learning_rate": 0.1, "n_estimators": 50, "num_leaves": 8, "min_child_samples": 10}
    method, problem, model = fitted("lightgbm", x, y, **space)
    predictive = method.predict(problem, model, at, None, 1)
    levels = predictive.levels[0, 0].numpy()
    targets = 5 + 2 * targets.numpy()[:, None]

    def pinball(values):
        return np.maximum(levels * (targets - values), (levels - 1) * (targets - values)).mean(axis=0)

    assert (pinball(predictive.values[0].numpy()) < 0.9 * pinball(np.quantile(targets, levels))).all()


def test_quantile_forest_quantiles_follow_leaf_weights():
    (x, y), (at, _) = data(150), data(10, seed=1)
    method, problem, forest = fitted("quantile-forest", x, y, min_samples_leaf=5, max_features=0.5)
    predictive = method.predict(problem, forest, at, None, 1)
    leaves, leaves_of_rows = forest.apply(at.numpy()), forest.apply(x.numpy())
    weights, n_rows = np.zeros((10, 150)), 0
    for tree, rows_of_tree in enumerate(forest.estimators_samples_):
        shared = leaves[:, tree, None] == leaves_of_rows[rows_of_tree, tree]
        for point in range(10):
            here = rows_of_tree[shared[point]]
            n_rows += len(here) / 10
            np.add.at(weights[point], here, 1 / len(here) / len(forest.estimators_))
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(forest.predict(at.numpy(), quantiles="mean", weighted_leaves=True), weights @ y.numpy())
    order = np.argsort(y.numpy())
    below = weights[:, order].cumsum(axis=1)

    def inverse(shift: float) -> np.ndarray:
        return np.array([[y.numpy()[order][np.searchsorted(row, level + shift)] for level in LEVELS] for row in below])

    values = forest.predict(at.numpy(), quantiles=LEVELS, weighted_leaves=True)
    step = 1.1 / n_rows  # the levels of the library's quantiles are those of n - 1 of the n rows in all leaves
    assert (inverse(-step) - 1e-9 <= values).all()
    assert (values <= inverse(step) + 1e-9).all()
    torch.testing.assert_close(predictive.values[0], 5 + 2 * in_order(torch.tensor(values)))


def test_conformal_levels_are_exact_on_exchangeable_rows():
    """In 600 data sets of skewed noise, a target is below the residual of level p in the share p of them."""
    generator, below, repeats = np.random.default_rng(0), 0, 600
    for seed in range(repeats):
        x = torch.tensor(generator.standard_normal((157, 3)))
        y = x[:, 0] + torch.tensor(generator.exponential(size=157))
        method, problem, posterior = fitted("conformal-ridge", x[:-1], y[:-1], seed=seed, alpha=1.0)
        predictive = method.predict(problem, posterior, x[-1:], None, 1)
        below = below + (5 + 2 * y[-1] < predictive.values[0, 0]).double()
    levels = predictive.levels[0, 0]
    torch.testing.assert_close(levels, torch.arange(1, 40).double() / 40)  # of 39 residuals
    assert ((below / repeats - levels).abs() < 4 * (levels * (1 - levels) / repeats).sqrt()).all()


@pytest.mark.parametrize("n", [20, 156, 1000])
def test_conformal_distribution_uses_held_out_residuals(n):
    x, y = data(n)
    method, problem, posterior = fitted("conformal-ridge", x, y, alpha=1.0)
    regression = posterior.regression
    held = np.random.default_rng(0).permutation(n)[: n // 4]
    residuals = np.sort(y.numpy()[held] - regression.predict(x.numpy()[held]))
    predictive = method.predict(problem, posterior, x[:1], None, 1)
    values, levels = ((predictive.values[0, 0].numpy() - 5) / 2, predictive.levels[0, 0].numpy())
    assert len(values) == 39
    wanted = np.interp(levels * (len(held) + 1) - 1, np.arange(len(held)), residuals) + regression.predict(x[:1])
    assert np.abs(values - wanted).max() < 0.02  # those that were kept apart


class Stub:
    """A pretrained transformer of either package: normal distributions around the first input."""

    def __init__(self, random_state):
        self.random_state = random_state

    def fit(self, x, y):
        assert x.shape == (60, 3)
        assert y.shape == (60,)
        return self

    def predict(self, x, *, output_type, quantiles=None, alphas=None):
        assert output_type == "quantiles"
        values = [norm.ppf(level, loc=x[:, 0]) for level in quantiles or alphas]
        return values if quantiles else np.stack(values, axis=1)  # a list by TabPFN, an array by TabICL


@pytest.mark.parametrize(("name", "regressor"), [("tabpfn", "TabPFNRegressor"), ("tabicl", "TabICLRegressor")])
def test_pretrained_transformers_predict_percentiles_in_original_units(name, regressor, monkeypatch):
    stub = ModuleType(name)
    stub.__spec__ = ModuleSpec(name, None)
    setattr(stub, regressor, Stub)
    monkeypatch.setitem(sys.modules, name, stub)
    (x, y), (at, _) = data(60), data(4, seed=1)
    method, problem, model = fitted(name, x, y, seed=7)
    predictive = method.predict(problem, model, at, None, 1)
    assert method.excludes(TASK) is None
    assert method.search_space(TASK) == {}
    assert model.random_state == 7
    levels = np.arange(1, 100) / 100
    np.testing.assert_allclose(predictive.levels[0, 0], levels)
    np.testing.assert_allclose(predictive.values[0], 5 + 2 * (at[:, :1].numpy() + norm.ppf(levels)))
