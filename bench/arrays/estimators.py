"""Approximate posteriors of neural networks as scikit-learn estimators."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import torch
from pandas.api.types import infer_dtype
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from lockstep_bench.bench.arrays.base import DEFAULT_METHOD, PosteriorEstimator, generator_of
from lockstep_bench.bench.arrays.data import classification, regression
from lockstep_bench.bench.metrics import pool
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.bench.metrics.intervals import quantiles
from lockstep_bench.bench.metrics.regression import moments
from lockstep_bench.methods.maths.predictive import Classes, Normals, Regression


class PosteriorRegressor(RegressorMixin, PosteriorEstimator):
    """Regression by a neural network with an approximate posterior over its weights.

    Features and targets are standardised inside; give them in their own units. `fit` tunes all hyper-parameters that
    `hparams` does not give, by cross-validation with the benchmark's trials, folds and budget. It then trains on all
    rows. `score` is the mean log predictive density, greater is better.

    On one core, `fit` on 442 rows of 10 features takes 1 to 4 seconds with the preset `tuned` and about 1 second with
    `quick`. For 10,000 rows of 20 features it takes 7 to 23 seconds and about 1 second (docs/python.md). The first fit
    of a method takes up to 5 seconds longer, to compile.

    Args:
        method: Name of a method (`python -m methods list`), with options if any: "vifa", "mfvi(tempering=0.1)",
            "ensemble:swag" for an ensemble of five members.
        preset: Budget: "tuned" (30 trials on 3 folds, at most 10,000 minibatches a fit), "quick" (5 trials on 3 folds,
            300 minibatches) or "paper" (30 trials on 5 folds, 120 epochs).
        hparams: Hyper-parameters that are given instead of tuned, {"lr": 0.01}, or whose range is given, {"lr": (0.001,
            0.1)}. Nothing is tuned if all are given. `noise_precision` is in units of 1 / y^2.
        settings: Changes of the budget, by field of `shared.protocol.Protocol`: {"epochs": 500}.
        likelihood: "gaussian", with one noise precision for all points; "heteroscedastic", where the network predicts
            the variance; or "student-t", whose noise has heavy tails.
        hidden: Units of each hidden layer.
        activation: "relu", "softplus" or "tanh". A method that needs a smooth activation uses softplus instead of relu.
        device: Torch's name of the device: "cpu", "cuda", "cuda:1".
        random_state: Seed of folds, trials, training and predictions. An integer makes `fit` repeatable.
        verbose: Whether to print the progress of tuning, and the time of `fit` at its end.

    Attributes:
        hparams_: Hyper-parameters of the fit, name -> value.
        validation_nmll_: Cross-validation score of these hyper-parameters: the negative mean log predictive density,
            nats; None if nothing was tuned.
        posterior_: The `bench.arrays.Posterior`, whose `predict` returns the predictive of each weight sample.
        diagnostics_: Diagnostics of the fit; `still_improving` is 1 where longer training may help.
        fit_seconds_: Time of `fit`.
        tune_seconds_: Time of tuning, a part of `fit_seconds_`.
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        preset: str = "tuned",
        hparams: Mapping[str, float | Sequence[float]] | None = None,
        settings: Mapping[str, int | str | None] | None = None,
        likelihood: str = "gaussian",
        hidden: Sequence[int] = (50,),
        activation: str = "relu",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ):
        super().__init__(
            method,
            preset=preset,
            hparams=hparams,
            settings=settings,
            hidden=hidden,
            activation=activation,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.likelihood = likelihood

    def fit(self, X: Any, y: Any) -> Self:
        """Tune the hyper-parameters by cross-validation, and train on all rows.

        Args:
            X: (N, P), features; a data frame keeps the names of its columns.
            y: (N,), targets.

        Raises:
            ValueError: An argument or a parameter has an impossible value; the message says what is allowed.
            bench.evaluation.tuning.tuner.Diverged: All trials diverged.
        """
        protocol = self._protocol(likelihood=self.likelihood)
        with _no_texts(y):
            data = regression(*self._checked(X, y, protocol, y_numeric=True))
        return self._fit(data, protocol)

    def predict(self, X: Any, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the mean of the predictive at X (n, P), (n,); with `return_std` also its standard deviation, (n,).

        The standard deviation is for a new target: it includes the noise.
        """
        parts = [moments(predictive) for predictive in self._regressions(X)]
        mean, variance = (torch.cat(each).numpy() for each in zip(*parts, strict=True))
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_quantiles(self, X: Any, q: float | Sequence[float]) -> np.ndarray:
        """Return quantiles of a new target at X (n, P).

        Args:
            X: (n, P), features.
            q: A probability between 0 and 1, exclusive, or a sequence of Q probabilities.

        Returns:
            (n,) for one probability, (n, Q) for several.
        """
        levels = np.asarray(q, dtype=np.float64)
        if not ((levels > 0) & (levels < 1)).all() or levels.ndim > 1:
            raise ValueError(f"q should be a probability between 0 and 1, or several, got {q!r}")
        each = levels.reshape(-1).tolist()
        parts = [quantiles(predictive, *each) for predictive in self._regressions(X)]
        columns = np.concatenate(parts, axis=1).T
        return columns if levels.ndim else columns[:, 0]

    def sample(self, X: Any, n: int = 1, random_state: int | np.random.RandomState | None = None) -> np.ndarray:
        """Return draws of new targets from the joint predictive, (n_points, n), like GaussianProcessRegressor.sample_y.

        Each column is one draw. It uses one weight sample for all points, so that its mean is a function of X, and
        independent noise at each point. For methods without weight samples, draws are independent at all points.

        Args:
            X: (n_points, P), features.
            n: Number of draws.
            random_state: Seed of the draws; by default that of the estimator.
        """
        generator = generator_of(self.random_state if random_state is None else random_state)
        places = generator.uniform(size=n)  # of the chosen weight samples, between the first and the last
        return np.concatenate([_draws(predictive, places, generator) for predictive in self._regressions(X)])

    def score(self, X: Any, y: Any) -> float:
        """Return the mean log predictive density of targets y (n,) at X (n, P), nats.

        This is minus the benchmark's metric NMLL.

        Greater is better, as `cross_val_score` and `GridSearchCV` expect. The score depends on the units of y: for
        targets a thousand times as large it is log(1000) = 6.9 nats smaller.
        """
        with _no_texts(y):
            return self._log_density(*self._inputs_and_targets(X, y, y_numeric=True))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # by scikit-learn's measure, as `score` is a log density and not R^2
        return tags

    def _regressions(self, X: Any) -> Iterator[Regression]:
        for predictive in self._predictives(self._inputs(X)):
            assert not isinstance(predictive, Classes)
            yield predictive


class PosteriorClassifier(ClassifierMixin, PosteriorEstimator):
    """Classification by a neural network with an approximate posterior over its weights.

    Parameters and attributes are those of `PosteriorRegressor`, except for `likelihood`: the likelihood is Bernoulli
    for two classes and categorical for more. `score` is the mean log probability of the true class (greater is better).
    For the accuracy, pass `scoring="accuracy"` to scikit-learn's functions.

    Attributes:
        classes_: (C,), the labels, sorted.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Tune the hyper-parameters by cross-validation, and train on all rows.

        Arguments are those of `PosteriorRegressor.fit`. The labels y (N,) are all integers, strings, booleans or dates.
        """
        protocol = self._protocol()
        x, y = self._checked(X, y, protocol)
        self.classes_, labels = _numbered(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y should hold at least 2 classes, got one class, {self.classes_.tolist()[0]!r}")
        return self._fit(classification(x, labels, len(self.classes_)), protocol)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label at each row of X (n, P), (n,)."""
        probabilities = self.predict_proba(X)
        most_probable: np.ndarray = self.classes_[probabilities.argmax(axis=1)]
        return most_probable

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each of `classes_` at X (n, P), (n, C): the mean over weight samples."""
        parts = []
        for predictive in self._predictives(self._inputs(X)):
            assert isinstance(predictive, Classes)
            parts.append(pool(predictive).probabilities.numpy())
        return np.concatenate(parts)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean log probability of labels y (n,) at X (n, P), nats: minus the benchmark's metric NMLL."""
        x, y = self._inputs_and_targets(X, y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which was not among those of fit, {self.classes_.tolist()}"
            )
        return self._log_density(x, np.searchsorted(self.classes_, y))


@contextmanager
def _no_texts(y: Any) -> Iterator[None]:
    """Say, where targets y of a regression are refused because they are texts, that these need a classifier."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if infer_dtype(np.ravel(np.asarray(y, dtype=object))) == "string":
            raise ValueError(
                "y holds texts, and a regression needs numbers; use PosteriorClassifier if they are classes, or "
                "convert them, as by numpy.asarray(y, dtype=float)"
            ) from error
        raise


def _numbered(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes (C,), sorted, and the class number (N,) of each label."""
    try:
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
    except (TypeError, ValueError) as error:
        if y.dtype != object:
            raise
        types = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(
            f"Unknown label type: objects of {types}. y should be an array of integers, strings, booleans or dates; "
            "convert it, as by numpy.asarray(y, dtype=str)"
        ) from error
    return classes, numbers


def _draws(predictive: Regression, places: np.ndarray, generator: np.random.RandomState) -> np.ndarray:
    """Return draws of targets, (n_points, n).

    Args:
        predictive: Predictive at n_points points.
        places: (n,), numbers between 0 and 1 that say which weight sample each draw takes.
        generator: Source of the noise.
    """
    chosen, n_points = (places * len(predictive[0])).astype(int), predictive[0].shape[1]
    if not isinstance(predictive, Normals):
        samples = [
            distribution_of(type(predictive)(*(part[one : one + 1] for part in predictive)))
            for one in range(len(predictive[0]))
        ]
        return np.stack([samples[one].quantile(generator.uniform(size=n_points)) for one in chosen], axis=1)
    mean, sd = (part[chosen].double().T.numpy() for part in (predictive.mean, predictive.variance.sqrt()))
    return mean + sd * generator.standard_normal(mean.shape)
