"""Baselines from other libraries for tabular regression, such as boosted trees, to compare neural networks with.

A library is imported only when a fit starts. If it is not installed, the method excludes every task, and the reason
given is the command that installs it. Fits run one by one, on one thread each. Libraries get standardised inputs and
targets.
"""

from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    FullBatchMethod,
    LogUniform,
    Method,
    Noise,
    Normals,
    Predictive,
    Problem,
    Quantiles,
    Task,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.quantile import LEVELS, in_order

EXTRA = "'lockstep-bench[lines]'"
BOOSTED_LEVELS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]  # one model each
CALIBRATION = 0.25  # share of the training rows whose residuals are the conformal distribution
RESIDUALS = 39  # whose quantiles a distribution keeps, equally many whatever the number of rows
PERCENTILES = [number / 100 for number in range(1, 100)]


def missing(package: str, requirement: str = EXTRA) -> str | None:
    """Return the command that installs a package, for an error message, or None if it is installed. Imports nothing."""
    if find_spec(package) is not None:
        return None
    return f"it needs {package}, which is not installed: pip install {requirement}"


def not_installed(method: Method) -> str | None:
    """Return the command that installs the library of a baseline; None if it is installed, or for other methods."""
    return missing(method.package, method.requirement) if isinstance(method, Line) else None


class Line(FullBatchMethod):
    """Base of the baselines from other libraries.

    Attributes:
        package: name of the library's module.
        requirement: argument of `pip install` that installs the library.
    """

    package: ClassVar[str]
    requirement: ClassVar[str] = EXTRA
    joint = False
    likelihoods = ("gaussian", "heteroscedastic")
    one_pass = True

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {}

    def excludes(self, task: Task) -> str | None:
        return super().excludes(task) or missing(self.package, self.requirement)

    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Any:
        return self.fitted(problem, x.double().cpu().numpy(), y.double().cpu().numpy(), seed)

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
        """Return the library's model, fitted to standardised inputs x (N, P) and targets y (N,), float64."""
        raise NotImplementedError


class QuantileLine(Line):
    """Base of the baselines that predict quantiles. Equal quantiles are moved apart, so that a density exists."""

    def quantiles(self, posterior: Any, x: np.ndarray) -> tuple[list[float], np.ndarray]:
        """Return K levels and the predicted quantiles (n, K) of the standardised target at x (n, P)."""
        raise NotImplementedError

    def predict(self, problem: Problem, posterior: Any, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        levels, values = self.quantiles(posterior, x.double().cpu().numpy())
        apart = in_order(torch.as_tensor(np.asarray(values), dtype=torch.float64, device=x.device))
        return Quantiles.of(torch.tensor(levels), problem.y_mean + problem.y_scale * apart)


@catalogued("ngboost")
class NGBoost(Line):
    """NGBoost: natural-gradient boosting of the mean and log standard deviation of a normal distribution.

    Hyper-parameters: `learning_rate`, and the number (`n_estimators`) and depth (`max_depth`) of the trees.
    """

    package = "ngboost"
    deterministic = True

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        # The defaults are 500 trees of depth 3 at a rate of 0.01. Higher rates take fewer trees for the same sum.
        return {
            "learning_rate": LogUniform(0.02, 0.2),
            "n_estimators": IntDistribution(50, 200, log=True),
            "max_depth": IntDistribution(2, 5),
        }

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
        from ngboost import NGBRegressor
        from sklearn.tree import DecisionTreeRegressor

        hparams = problem.hparams
        return NGBRegressor(
            Base=DecisionTreeRegressor(max_depth=int(hparams.max_depth), random_state=0),  # it breaks ties
            n_estimators=int(hparams.n_estimators),
            learning_rate=hparams.learning_rate.item(),
            random_state=0,
            verbose=False,
        ).fit(x, y)

    def predict(self, problem: Problem, posterior: Any, x: Tensor, noise: Noise, n_samples: int) -> Normals:
        normal = posterior.pred_dist(x.double().cpu().numpy())
        mean, sd = (torch.as_tensor(each, device=x.device) for each in (normal.loc, normal.scale))
        return Normals((problem.y_mean + problem.y_scale * mean)[None], (problem.y_scale * sd).square()[None])


@catalogued("lightgbm")
class LightGBM(QuantileLine):
    """Gradient boosting with LightGBM: one boosted model for each of 11 quantiles, trained on the pinball loss.

    Hyper-parameters: `learning_rate`, number of trees (`n_estimators`), leaves per tree (`num_leaves`) and minimum
    number of rows per leaf (`min_child_samples`).
    """

    package = "lightgbm"
    deterministic = True

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        # Around the defaults: 100 trees of 31 leaves with 20 rows at a rate of 0.1.
        return {
            "learning_rate": LogUniform(0.02, 0.3),
            "n_estimators": IntDistribution(50, 200, log=True),
            "num_leaves": IntDistribution(4, 32, log=True),
            "min_child_samples": IntDistribution(5, 40, log=True),
        }

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> list[str]:
        import lightgbm

        hparams = problem.hparams
        options = {
            "objective": "quantile",
            "learning_rate": hparams.learning_rate.item(),
            "num_leaves": int(hparams.num_leaves),
            "min_data_in_leaf": int(hparams.min_child_samples),
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        n_trees = int(hparams.n_estimators)
        models = [
            lightgbm.train(options | {"alpha": level}, lightgbm.Dataset(x, y, params=options), n_trees)
            for level in BOOSTED_LEVELS
        ]
        return [model.model_to_string() for model in models]

    def quantiles(self, posterior: list[str], x: np.ndarray) -> tuple[list[float], np.ndarray]:
        import lightgbm

        models = [lightgbm.Booster(model_str=model) for model in posterior]
        return BOOSTED_LEVELS, np.stack([model.predict(x, num_threads=1) for model in models], axis=1)


@catalogued("quantile-forest")
class QuantileForest(QuantileLine):
    """Quantile regression forest: a random forest that weights the training targets and takes their quantiles.

    Hyper-parameters: `min_samples_leaf`, minimum number of rows per leaf, and `max_features`, fraction of the inputs
    considered at each split.
    """

    package = "quantile_forest"

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"min_samples_leaf": IntDistribution(1, 20, log=True), "max_features": FloatDistribution(0.2, 1.0)}

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
        from quantile_forest import RandomForestQuantileRegressor

        return RandomForestQuantileRegressor(
            min_samples_leaf=int(problem.hparams.min_samples_leaf),
            max_features=problem.hparams.max_features.item(),
            max_samples_leaf=None,  # all targets of a leaf count, not one at random
            random_state=seed,
        ).fit(x, y)

    def quantiles(self, posterior: Any, x: np.ndarray) -> tuple[list[float], np.ndarray]:
        return LEVELS, posterior.predict(x, quantiles=LEVELS, weighted_leaves=True)


class ConformalPosterior(NamedTuple):
    """A split conformal predictive system of the library crepes, and the regression that it calibrates.

    Attributes:
        regression: the fitted scikit-learn regression, for standardised targets.
        system: crepes' predictive system, calibrated with residuals of rows that the regression has not seen.
    """

    regression: Any
    system: Any


@catalogued("conformal-ridge")
class ConformalRidge(QuantileLine):
    """Ridge regression on three quarters of the rows, and quantiles from its errors on the others (split conformal).

    The prediction plus the i-th smallest of n residuals is the quantile of level i / (n + 1). On exchangeable rows a
    target is below it with exactly this probability. At most 39 residuals are kept, the smallest and largest among
    them. The distribution function is linear between them. Hyper-parameter: `alpha`, the penalty on squared weights.
    """

    package = "crepes"

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"alpha": LogUniform(1e-3, 1e3)}

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> ConformalPosterior:
        from crepes import ConformalPredictiveSystem
        from sklearn.linear_model import Ridge

        held = np.random.default_rng(seed).permutation(len(y))[: max(2, round(CALIBRATION * len(y)))]
        used = np.delete(np.arange(len(y)), held)
        regression = Ridge(alpha=problem.hparams.alpha.item()).fit(x[used], y[used])
        residuals = y[held] - regression.predict(x[held])
        return ConformalPosterior(regression, ConformalPredictiveSystem().fit(residuals, seed=0))

    def quantiles(self, posterior: ConformalPosterior, x: np.ndarray) -> tuple[list[float], np.ndarray]:
        residuals = posterior.system.predict_cpds(np.zeros(1))[0]
        n, kept = len(residuals), np.linspace(0, len(residuals) - 1, RESIDUALS)
        kept = kept if n < RESIDUALS else kept.round()
        values = posterior.regression.predict(x)[:, None] + np.interp(kept, np.arange(n), residuals)
        return ((kept + 1) / (n + 1)).tolist(), values


@catalogued("tabpfn")
class TabPFN(QuantileLine):
    """TabPFN, whose weights are downloaded at the first fit. It has no hyper-parameters."""

    package = requirement = "tabpfn"

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
        from tabpfn import TabPFNRegressor

        return TabPFNRegressor(random_state=seed).fit(x, y)

    def quantiles(self, posterior: Any, x: np.ndarray) -> tuple[list[float], np.ndarray]:
        return PERCENTILES, np.stack(posterior.predict(x, output_type="quantiles", quantiles=PERCENTILES), axis=1)


@catalogued("tabicl")
class TabICL(QuantileLine):
    """TabICL, whose weights are downloaded at the first fit. It has no hyper-parameters."""

    package = requirement = "tabicl"

    def fitted(self, problem: Problem, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
        from tabicl import TabICLRegressor

        return TabICLRegressor(random_state=seed).fit(x, y)

    def quantiles(self, posterior: Any, x: np.ndarray) -> tuple[list[float], np.ndarray]:
        return PERCENTILES, posterior.predict(x, output_type="quantiles", alphas=PERCENTILES)
