"""The base class of the scikit-learn estimators for regression and classification: tuning, fitting and saving."""

import time
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from pandas.api.types import infer_dtype
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lockstep_bench.bench.arrays import storage
from lockstep_bench.bench.arrays.data import Arrays
from lockstep_bench.bench.arrays.training import fit, protocol_of, tune
from lockstep_bench.bench.evaluation.tuning.tuner import Diverged
from lockstep_bench.bench.experiment.progress import JobProgress
from lockstep_bench.bench.metrics import flaw, log_density
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.shared.protocol import Protocol

DEFAULT_METHOD = "deep-ensemble"
BLOCK = 64  # rows
ROWS_AT_ONCE = 256 * BLOCK  # that are predicted together
LARGEST_SEED = 2**31 - 1
ARRAYS = ("classes_", "feature_names_in_")  # attributes that are arrays of numbers or texts
# Kinds of columns, as pandas's `infer_dtype` calls them.
DATES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "period", "time"}
CATEGORIES = {"categorical", "interval"}
NUMBERS = {"floating", "integer", "boolean", "mixed-integer-float", "integer-na", "decimal", "empty"}
ENCODER = "sklearn.preprocessing.OneHotEncoder"
NUMBER_DATES = "turn dates into numbers, for example into days since a fixed date, or leave them out"


class PosteriorEstimator(BaseEstimator):
    """Base of `PosteriorRegressor` and `PosteriorClassifier`; see these for the parameters."""

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        preset: str = "tuned",
        hparams: Mapping[str, float | Sequence[float]] | None = None,
        settings: Mapping[str, int | str | None] | None = None,
        hidden: Sequence[int] = (50,),
        activation: str = "relu",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ):
        self.method = method
        self.preset = preset
        self.hparams = hparams
        self.settings = settings
        self.hidden = hidden
        self.activation = activation
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to a file in NumPy's format .npz: arrays and a JSON string, no pickle.

        A `random_state` that is a generator is saved as None.

        Raises:
            TypeError: A part of the posterior, or a label, is not a tensor, a number or a string, as for wrapped
                libraries.
        """
        check_is_fitted(self)
        params = self.get_params()
        if not isinstance(params["random_state"], Integral):
            params["random_state"] = None
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name != "posterior_"}
        arrays = {name: fitted.pop(name) for name in ARRAYS if name in fitted}
        as_lists = {name: [str(array.dtype), array.tolist()] for name, array in arrays.items()}
        extra = {"estimator": type(self).__name__, "params": params, "fitted": fitted, "arrays": as_lists}
        storage.save(self.posterior_, path, extra)

    @classmethod
    def load(cls, path: str | PathLike[str], device: str | None = None) -> Self:
        """Return the estimator in a file that `save` wrote. No code in the file is executed.

        The method is looked up by name among the methods of this package and of other installed packages.

        Args:
            path: The file.
            device: Torch's name of the device to predict on; by default the device at the time of `save`. The same seed
                gives different weight samples on a GPU and on a CPU.

        Raises:
            ValueError: The file holds another estimator, or the method is not installed.
        """
        posterior, extra = storage.load(path, device)
        kind = extra.get("estimator", "posterior")
        if kind != cls.__name__:
            raise ValueError(f"{path} holds a {kind}; load it as one, not as a {cls.__name__}")
        hidden = tuple(np.atleast_1d(extra["params"]["hidden"]).tolist())  # JSON has no tuples
        estimator = cls(**extra["params"] | {"hidden": hidden})
        if device is not None:
            estimator.device = device
        estimator.posterior_ = posterior
        for name, value in extra["fitted"].items():
            setattr(estimator, name, value)
        for name, (dtype, values) in extra["arrays"].items():
            setattr(estimator, name, np.array(values, dtype=dtype))
        return estimator

    def _protocol(self, **given: str) -> Protocol:
        """Return the protocol of tuning and training, with the fields in `given` set."""
        hidden = ",".join(map(str, np.atleast_1d(self.hidden)))
        given = {"hidden": hidden, "activation": self.activation, **given}
        settings = self.settings or {}
        if twice := [name for name in ("hparams", *given) if name in settings]:
            raise ValueError(f"settings has {twice[0]!r}; give the parameter {twice[0]} of the estimator instead")
        return protocol_of(self.preset, {**settings, **given}, self.hparams)

    def _checked(self, x: Any, y: Any, protocol: Protocol, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return features (N, P) and targets (N,) after scikit-learn's checks; at least one row per fold is needed."""
        checked: tuple[np.ndarray, np.ndarray] = _validated(
            self, x, y, ensure_min_samples=max(2, protocol.folds), **options
        )
        return checked

    def _fit(self, data: Arrays, protocol: Protocol) -> Self:
        given = self.random_state
        if isinstance(given, Integral) and given >= 0:
            seed = int(given)
        else:
            seed = int(generator_of(given).randint(LARGEST_SEED))
        report = _printed if self.verbose else _silent
        started = time.perf_counter()
        tuned = tune(data, self.method, protocol, seed=seed, device=self.device, on_progress=report)
        self.tune_seconds_ = time.perf_counter() - started
        self.posterior_ = fit(data, self.method, protocol, tuned.hparams, seed=seed, device=self.device)
        self.hparams_ = dict(tuned.hparams)
        self.validation_nmll_ = tuned.score
        self.diagnostics_ = dict(self.posterior_.diagnostics)
        self._predictive(data.dataset.x[:1])
        self.fit_seconds_ = time.perf_counter() - started
        if self.verbose:
            print(
                f"\r{self.method}: {self.fit_seconds_:.1f} s, of which {self.tune_seconds_:.1f} s for {tuned.n_trials} "
                f"trials of {protocol.fits_per_trial} fits"
            )
        return self

    def _predictive(self, x: np.ndarray) -> Predictive:
        """Return the predictive at x (n, P).

        The last block of rows is padded to full size. Products of few rows would use other kernels and round
        differently, but scikit-learn checks to seven digits that a prediction does not depend on the other rows.
        """
        filled = np.concatenate([x, np.repeat(x[:1], -len(x) % BLOCK, axis=0)])
        predictive = self.posterior_.predict(filled)
        if problem := flaw(predictive, "points"):
            raise Diverged(f"{self.method} predicts no distribution: {problem}; give a smaller learning rate")
        return type(predictive)(*(part[:, : len(x)] for part in predictive))

    def _predictives(self, x: np.ndarray) -> Iterator[Predictive]:
        """Yield the predictive at successive parts of x (n, P), because all of a million rows would fill a gigabyte."""
        for first in range(0, len(x), ROWS_AT_ONCE):
            yield self._predictive(x[first : first + ROWS_AT_ONCE])

    def _log_density(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the mean log predictive density of targets, or of class numbers, y (n,) at x (n, P), nats."""
        parts = torch.split(torch.tensor(y, dtype=torch.float64), ROWS_AT_ONCE)
        pairs = zip(self._predictives(x), parts, strict=True)
        return float(torch.cat([log_density(predictive, part) for predictive, part in pairs]).mean())

    def _inputs(self, x: Any) -> np.ndarray:
        """Return the features (n, P) of new inputs after scikit-learn's checks."""
        check_is_fitted(self)
        checked: np.ndarray = _validated(self, x, reset=False)
        return checked

    def _inputs_and_targets(self, x: Any, y: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return features (n, P) and targets (n,) of test points after scikit-learn's checks."""
        check_is_fitted(self)
        checked: tuple[np.ndarray, np.ndarray] = _validated(self, x, y, reset=False, **options)
        return checked


def generator_of(random_state: Any) -> np.random.RandomState:
    """Return the generator that scikit-learn's `check_random_state` does; its errors do not say what is allowed."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state should be an integer from 0 to 4294967295 (2**32 - 1), a numpy.random.RandomState or None, "
            f"got {random_state!r}"
        ) from error
    return generator


def _validated(estimator: PosteriorEstimator, x: Any, *y: Any, **options: Any) -> Any:
    """Return what scikit-learn's `validate_data` does, in float64; its errors do not name columns, and these do.

    Columns of dates and of categories are refused even where `validate_data` would turn them into numbers.
    """
    if getattr(getattr(x, "dtype", None), "kind", "") in ("m", "M"):
        raise ValueError(f"X holds dates or durations ({x.dtype}), not numbers; {NUMBER_DATES}")
    named = hasattr(x, "isna") and hasattr(x, "select_dtypes")  # a data frame of pandas
    kinds = [(name, infer_dtype(column)) for name, column in x.items()] if named else []
    if any(kind in DATES | CATEGORIES for _, kind in kinds):
        raise _not_numeric(kinds)
    missing = x.isna().sum(axis=0) if named else {}
    columns = ", ".join(f"{name!r} ({count} rows)" for name, count in missing.items() if count)
    if columns:
        raise ValueError(
            f"X contains NaN in {columns}; fill them, for example with sklearn.impute.SimpleImputer in a pipeline, or "
            "leave these rows out"
        )
    try:
        return validate_data(estimator, x, *y, dtype=np.float64, **options)
    except ValueError as error:
        if str(error).startswith("could not convert") and any(kind not in NUMBERS for _, kind in kinds):
            raise _not_numeric(kinds) from error
        raise


def _not_numeric(kinds: Sequence[tuple[Any, str]]) -> ValueError:
    """Return the error on the columns that are not numeric among (name, kind)."""
    dates = [name for name, kind in kinds if kind in DATES]
    others = [name for name, kind in kinds if kind not in DATES | NUMBERS]
    remedies = [
        (others, f"encode {'texts and categories' if dates else 'them'}, for example with {ENCODER} in a pipeline"),
        ("categorical" in {kind for _, kind in kinds}, "convert categories that are quantities with astype(float)"),
        (dates, NUMBER_DATES),
    ]
    columns = ", ".join(map(repr, others + dates))
    said = "; ".join(remedy for needed, remedy in remedies if needed)
    return ValueError(f"X has columns that are not numeric, {columns}; {said}")


def _silent(progress: JobProgress) -> None:
    """Print nothing."""


def _printed(progress: JobProgress) -> None:
    """Print the progress of tuning on a line that the next report overwrites."""
    print(f"\rtuned to {progress.done:.0%}", end="", flush=True)
