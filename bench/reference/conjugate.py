"""Bayesian linear regression, whose posterior is known exactly, for checks of methods."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch

from bench.engine.minibatches import Schedule
from bench.engine.replica import Data, Fit
from bench.engine.stacked_fits import StackedFits
from bench.engine.stacked_training import Execution, train_stacked
from methods.base import Method
from methods.maths.likelihoods import Gaussian
from methods.maths.predictive import Normals
from methods.networks.mlp import MLP
from methods.problem import Task


class Normal(NamedTuple):
    """A Gaussian with a dense covariance."""

    mean: np.ndarray  # (D,)
    covariance: np.ndarray  # (D, D)


class LinearProblem(NamedTuple):
    """Linear regression y = theta^T x + noise of precision beta, with the prior theta ~ N(0, I / alpha)."""

    x: np.ndarray  # (N, D)
    y: np.ndarray  # (N,)
    alpha: float
    beta: float

    @property
    def task(self) -> Task:
        """A linear model without bias."""
        return Task("linear", Gaussian((self.beta, self.beta)), MLP(self.x.shape[1], hidden=(), bias=False))

    def posterior(self) -> Normal:
        """Return the posterior N(beta S x^T y, S), S = (alpha I + beta x^T x)^-1 (Bishop 2006, eq. 3.53-3.54)."""
        covariance = np.linalg.inv(self.alpha * np.eye(self.x.shape[1]) + self.beta * self.x.T @ self.x)
        return Normal(self.beta * covariance @ self.x.T @ self.y, covariance)

    def fit(
        self,
        method: Method,
        lr: float,
        updates: int,
        batch_size: int,
        seeds: Sequence[int] = (0,),
        execution: Execution = "native",
        dtype: torch.dtype = torch.float32,
        **others: float,
    ) -> StackedFits:
        """Return fits of a linear model without bias, one per seed, without standardisation and in float64.

        After the N rows, the fits' data hold the D unit vectors. The model's output at a unit vector is a weight.

        Args:
            method: of all fits.
            lr: learning rate.
            updates: of each fit.
            batch_size: M, rows per minibatch.
            seeds: one per fit.
            execution: see `bench.engine.stacked_training.train_stacked`.
            dtype: of weights and arithmetic; single precision, as in a run, is trained natively.
            others: hyper-parameters of the method besides `lr` and the two precisions.
        """
        hparams = {"lr": lr, "prior_precision": self.alpha, "noise_precision": self.beta} | others
        minibatches = updates * method.batches_per_update
        schedule = Schedule(len(self.x), batch_size, minibatches, method.batches_per_update, minibatches)
        fits = [Fit(np.arange(len(self.x)), hparams, seed) for seed in seeds]
        dim = self.x.shape[1]
        data = Data.of(np.concatenate([self.x, np.eye(dim)]), np.concatenate([self.y, np.zeros(dim)]))
        return train_stacked(
            method,
            self.task,
            data,
            fits,
            schedule,
            standardise=False,
            execution=execution,
            dtype=dtype,
            stacked=method.stackable,
        )

    def weight_samples(self, stack: StackedFits, n_samples: int) -> np.ndarray:
        """Return posterior samples (B, S, D) of each fit's weights, from predictions at the unit vectors."""
        probes = np.arange(len(self.x), len(self.x) + self.x.shape[1])
        predictives = cast("Iterator[Normals]", stack.predict([probes] * len(stack.fits), n_samples))  # regression
        return np.stack([predictive.mean.numpy() for predictive in predictives])


def correlated(seed: int, n_rows: int = 1000, alpha: float = 0.01, beta: float = 0.1) -> LinearProblem:
    """Return the two-dimensional task of the thesis (4.4.2.1): inputs of unit variance and covariance 0.5."""
    generator = np.random.default_rng(seed)
    x = generator.multivariate_normal(np.zeros(2), [[1, 0.5], [0.5, 1]], size=n_rows)
    theta = generator.normal(0, alpha**-0.5, size=2)
    return LinearProblem(x, x @ theta + generator.normal(0, beta**-0.5, size=n_rows), alpha, beta)


def orthogonal(seed: int, n_rows: int = 60, dim: int = 3, alpha: float = 1.0, beta: float = 1.0) -> LinearProblem:
    """Return a task whose posterior is a factorised Gaussian: the columns of x are orthogonal, of norm sqrt(N)."""
    generator = np.random.default_rng(seed)
    x = np.linalg.qr(generator.standard_normal((n_rows, dim))).Q * np.sqrt(n_rows)
    theta = generator.normal(0, alpha**-0.5, size=dim)
    return LinearProblem(x, x @ theta + generator.normal(0, beta**-0.5, size=n_rows), alpha, beta)
