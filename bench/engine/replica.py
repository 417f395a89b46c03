"""A replica: one model with its own training rows, hyper-parameters and standardisation.

Several replicas are trained together along a leading tensor axis. The functions of this module are written for a single
replica, without that axis.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.engine.training_record import require_scalars
from lockstep_bench.datasets import Standardisation
from lockstep_bench.methods.base import FullBatchMethod, Method
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import (
    Classes,
    Histogram,
    NormalMixtures,
    Normals,
    Predictive,
    Quantiles,
    StudentT,
)
from lockstep_bench.methods.networks.mixed_precision import Mixed
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Sweep, Task

SEEDS = 1 << 32  # NumPy and scikit-learn take seeds below it


@dataclass(frozen=True)
class Data:
    """A data set on a device, held once and shared by all replicas of a stack.

    Attributes:
        x: (N, P), features in original units, float64, or the pixels of images, uint8.
        y: (N,), targets in original units, or class numbers; float64.
    """

    x: Tensor
    y: Tensor

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, device: torch.device | str = "cpu") -> "Data":
        """Return a copy of x (N, P) and y (N,) on a device."""
        return cls(torch.tensor(x, device=device), torch.tensor(y, device=device))


@dataclass(frozen=True)
class Fit:
    """Specification of one training run.

    Attributes:
        rows: indices of the training rows.
        hparams: hyper-parameters, name -> value.
        seed: seed of initial weights, noise and the order of minibatches.
    """

    rows: np.ndarray
    hparams: Mapping[str, float]
    seed: int


class Replica(NamedTuple):
    """The tensors that differ between replicas: size, standardisation and hyper-parameters.

    `replicas_of` returns them with a leading axis of length R.
    """

    n_train: Tensor  # ()
    x_mean: Tensor  # (P,), float64
    x_scale: Tensor  # (P,), float64
    y_mean: Tensor  # (), float64
    y_scale: Tensor  # (), float64
    hparams: dict[str, Tensor]  # () each


def replicas_of(
    fits: Sequence[Fit],
    data: Data,
    dtype: torch.dtype,
    *,
    standardise_x: bool,
    standardise_y: bool,
    channels: int | None = None,
) -> Replica:
    """Return the fits as one stacked `Replica`, each standardised by the statistics of its own training rows.

    Args:
        fits: R fits, with the same names of hyper-parameters.
        data: the data whose rows the fits are trained on.
        dtype: type of all tensors but means and scales.
        standardise_x: False leaves x in original units.
        standardise_y: False leaves y in original units.
        channels: number of image channels, to standardise channel by channel; None to standardise column by column.
    """

    def scaling(rows: np.ndarray) -> Standardisation:
        return Standardisation.of(x, rows) if channels is None else Standardisation.of_channels(x, rows, channels)

    x, y = data.x.cpu().numpy(), data.y.cpu().numpy()
    x_identity, y_identity = (np.zeros(x.shape[1]), np.ones(x.shape[1])), (0.0, 1.0)
    # Trials and members share their fold's index array, so a fold's statistics are computed once.
    folds = {id(fit.rows): fit.rows for fit in fits}
    scalings = {
        key: (
            *(scaling(rows) if standardise_x else x_identity),
            *(Standardisation.of(y, rows) if standardise_y else y_identity),
        )
        for key, rows in folds.items()
    }
    columns = zip(*(scalings[id(fit.rows)] for fit in fits), strict=True)
    x_mean, x_scale, y_mean, y_scale = (torch.tensor(np.stack(column), device=data.x.device) for column in columns)
    return Replica(
        torch.tensor([len(fit.rows) for fit in fits], dtype=dtype, device=data.x.device),
        *(x_mean, x_scale, y_mean, y_scale),
        {
            name: torch.tensor([fit.hparams[name] for fit in fits], dtype=dtype, device=data.x.device)
            for name in fits[0].hparams
        },
    )


class ReplicaModel:
    """A method on a task, as functions of one replica.

    `vmap` or `bench.engine.vectorise` turn these into functions of all replicas.

    Args:
        method: the method that trains the network.
        task: the task, with likelihood and network.
        dtype: type of weights and arithmetic.
        start: pretrained weights of all layers but the last, on the data's device; None for a random start.
        short: data type of passes through the network during updates, such as bfloat16, if it is not `dtype`. Other
            passes use `dtype`.
    """

    def __init__(
        self,
        method: Method,
        task: Task,
        dtype: torch.dtype,
        start: Tensor | None = None,
        short: torch.dtype | None = None,
    ):
        self.method, self.likelihood, self.network = method, method.likelihood(task), method.network(task)
        self.dtype, self.start, self.short = dtype, None if start is None else start.to(dtype), short

    def with_reference(self, n_rows: int) -> "ReplicaModel":
        """Return the model with batch normalisation by the statistics of the first `n_rows` rows of x."""
        if not self.network.couples_rows:
            return self
        model = copy(self)
        model.network = replace(self.network, n_reference=n_rows)
        return model

    def sampling(self) -> "ReplicaModel":
        """Return a model whose method predicts with weight samples (`Method.sampling`)."""
        model = copy(self)
        model.method = self.method.sampling()
        return model

    def init(self, replica: Replica, noise: Noise) -> Any:
        """Return the state before training."""
        return self.method.init(self._problem(replica), noise)

    def update(
        self, replica: Replica, x: Tensor, y: Tensor, index: Tensor, state: Any, noise: Noise, step: Step
    ) -> tuple[Any, dict[str, Tensor]]:
        """Return the state after an update, and the diagnostics that the method returned with it.

        Args:
            replica: size, standardisation and hyper-parameters of the fit.
            x: (N, P), features in original units.
            y: (N,), targets in original units.
            index: (L, M), row numbers of L minibatches.
            state: state before the update.
            noise: random numbers of this update.
            step: number and phase of the update.
        """
        batch = Batch(self._standardised(replica, x[index]), self._targets(replica, y[index]))
        if self.method.full_batch:  # rows beyond those of this fit are padding
            present = torch.arange(index.shape[1], device=x.device) < replica.n_train
            batch = batch._replace(present=present.to(batch.x)[None])
        problem = self._problem(replica)
        if self.short:
            problem = replace(problem, network=Mixed(problem.network, self.short))
        result = self.method.update(problem, state, batch, noise, step)
        # A state may be a NamedTuple, so only a plain pair whose second part is a dictionary carries diagnostics.
        has_diagnostics = type(result) is tuple and len(result) == 2 and isinstance(result[1], dict)
        return result if has_diagnostics else (result, {})

    def sweep(self, replica: Replica, x: Tensor, y: Tensor, index: Tensor, present: Tensor, state: Any) -> Any:
        """Return the state after one part of a pass over all training rows (`Method.sweep`).

        Args:
            replica: size, standardisation and hyper-parameters of the fit.
            x: (N, P), features in original units.
            y: (N,), targets in original units.
            index: (M,), row numbers of this part.
            present: (M,), 1 for a row that counts, and 0 for a padding row.
            state: state before this part.
        """
        rows = Sweep(self._standardised(replica, x[index]), self._targets(replica, y[index]), present)
        return self.method.sweep(self._problem(replica), state, rows)

    def fit(self, replica: Replica, x: Tensor, y: Tensor, seed: int) -> Any:
        """Return the posterior of a method that gets all training rows in one call (`FullBatchMethod.fit`).

        Args:
            replica: size, standardisation and hyper-parameters of the fit.
            x: (n, P), the training rows in original units.
            y: (n,), their targets in original units.
            seed: seed of the fit.
        """
        assert isinstance(self.method, FullBatchMethod)
        with torch.enable_grad():
            x, y = self._standardised(replica, x), self._targets(replica, y)
            return self.method.fit(self._problem(replica), x, y, seed % SEEDS)

    def finish(self, replica: Replica, state: Any) -> Any:
        """Return the posterior from the state after the last update."""
        return self.method.finish(self._problem(replica), state)

    def moments(self, replica: Replica, posterior: Any) -> tuple[Tensor, Tensor] | None:
        """Return mean (D,) and covariance (D, D) of the weights; None where there is no closed form."""
        return self.method.moments(self._problem(replica), posterior)

    def diagnostics(self, replica: Replica, posterior: Any) -> dict[str, Tensor]:
        """Return the method's diagnostics of a trained fit: name -> tensor ().

        Raises:
            TypeError: if the method returns another type.
        """
        reported = self.method.diagnostics(self._problem(replica), posterior)
        require_scalars(f"{self.method.name}.diagnostics", reported)
        return reported

    def predict(self, replica: Replica, posterior: Any, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        """Return the predictive at inputs x, in original target units.

        Args:
            replica: size, standardisation and hyper-parameters of the fit.
            posterior: posterior of the fit.
            x: (n, P), features in original units.
            noise: random numbers of the samples.
            n_samples: S, number of weight samples; fewer are returned if all would be equal.

        Raises:
            TypeError: if the method's predictive has a wrong type or shape, or is empty.
        """
        x = self._standardised(replica, x)
        predictive = self.method.predict(self._problem(replica), posterior, x, noise, n_samples)
        if not _is_predictive(predictive, len(x)):
            tensors = [leaf for leaf in tree_leaves(predictive) if isinstance(leaf, Tensor)]
            got = ", ".join(f"{tuple(leaf.shape)}{' complex' * leaf.is_complex()}" for leaf in tensors)
            raise TypeError(
                f"{self.method.name}.predict must return, for the {len(x)} points that it got, Normals of a mean and a "
                f"variance of the shape (S, {len(x)}), or Classes of log_probs of the shape (S, {len(x)}, C), or a "
                f"NormalMixtures, StudentT, Quantiles or Histogram whose parts have the length {len(x)} in the second "
                f"place, all of real numbers and with S of at least 1; it "
                f"returned a {type(predictive).__name__} of {f'the shapes {got}' if got else 'no tensors'}"
            )
        return predictive

    def _standardised(self, replica: Replica, x: Tensor) -> Tensor:
        if x.dtype == torch.uint8:  # images: double precision would cost time and memory for nothing
            return (x.to(self.dtype) - replica.x_mean.to(self.dtype)) / replica.x_scale.to(self.dtype)
        return ((x - replica.x_mean) / replica.x_scale).to(self.dtype)

    def _targets(self, replica: Replica, y: Tensor) -> Tensor:
        return ((y - replica.y_mean) / replica.y_scale).to(self.dtype)

    def _problem(self, replica: Replica) -> Problem:
        y_mean, y_scale = replica.y_mean.to(self.dtype), replica.y_scale.to(self.dtype)
        hparams = HParams(**replica.hparams)
        return Problem(self.network, self.likelihood, hparams, replica.n_train, y_mean, y_scale, self.start)


def _is_predictive(predictive: Any, n_points: int) -> bool:
    n_axes = {Normals: 2, NormalMixtures: 3, StudentT: 2, Quantiles: 3, Histogram: 3, Classes: 3}.get(type(predictive))
    return n_axes is not None and all(
        isinstance(part, Tensor)
        and not part.is_complex()
        and part.ndim == n_axes
        and part.shape[:2] == (len(predictive[0]) or 1, n_points)
        for part in predictive
    )
