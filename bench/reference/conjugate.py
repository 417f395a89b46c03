"""Bayesian linear regression problems, whose posterior is known exactly, for checks of methods."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.stacked_training import Execution, train_stacked
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task


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
        """The task of this problem: a linear model without bias and a Gaussian likelihood."""
        return Task("linear", Gaussian((self.beta, self.beta)), MLP(self.x.shape[1], hidden=(), bias=False))

    def posterior(self) -> Normal:
        """Return the posterior N(beta S x^T y, S), S = (alpha I + beta x^T x)^-1 (Bishop 2006, eq. 3.53-3.54)."""
        covariance = np.linalg.inv(self.alpha * np.eye(self.x.shape[1]) + self.beta * self.x.T @ self.x)
        return Normal(self.beta * covariance @ self.x.T @ self.y, covariance)

    def best_normal(self, covariance: str) -> Normal:
        """Return the Gaussian q that minimises KL(q || posterior) among Gaussians with a given kind of covariance.

        Let P be the exact precision matrix. For "full", q is the posterior itself. For "diagonal" (independent
        weights), the variances are 1 / P_ii. For "spherical" (equal variances), the variance is D / tr P. The mean is
        always exact (Bishop 2006, section 10.1.2).

        Args:
            covariance: a key of `methods.base.COVARIANCES`.
        """
        exact = self.posterior()
        precision = np.linalg.inv(exact.covariance)
        if covariance == "diagonal":
            return Normal(exact.mean, np.diag(1 / np.diag(precision)))
        if covariance == "spherical":
            return Normal(exact.mean, np.eye(len(precision)) * len(precision) / np.trace(precision))
        return exact

    @property
    def probes(self) -> np.ndarray:
        """Inputs (2 D, D) at which the model's output is a weight, or a projection on an axis of the posterior."""
        return np.concatenate([np.eye(self.x.shape[1]), np.linalg.eigh(self.posterior().covariance).eigenvectors.T])

    def fit(
        self,
        method: Method,
        updates: int,
        batch_size: int,
        seeds: Sequence[int] = (0,),
        execution: Execution = "native",
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        **hparams: float,
    ) -> StackedFits:
        """Train a method on this problem, without standardisation, and return the fits, one per seed.

        The data of the fits are the N training rows, followed by `probes`.

        Args:
            method: method of all fits.
            updates: number of updates that a protocol plans for each fit; Markov chains set their own number.
            batch_size: M, rows per minibatch.
            seeds: seed of each fit.
            execution: see `bench.engine.stacked_training.train_stacked`.
            dtype: type of weights and arithmetic; single precision, as in a run, is trained natively.
            device: torch's name of the device that the fits are trained on.
            hparams: hyper-parameters of the method, such as `lr`, besides the two precisions.
        """
        hparams = hparams | {"prior_precision": self.alpha, "noise_precision": self.beta}
        minibatches = updates * method.batches_per_update
        schedule = Schedule.of(method, len(self.x), batch_size, minibatches, minibatches)
        fits = [Fit(np.arange(len(self.x)), hparams, seed) for seed in seeds]
        probes = self.probes
        data = Data.of(np.concatenate([self.x, probes]), np.concatenate([self.y, np.zeros(len(probes))]), device)
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
        """Return samples of each fit's weights, (B, S, D): predictions at unit vectors, which are single weights."""
        unit_vectors = np.arange(len(self.x), len(self.x) + self.x.shape[1])
        return np.stack([predictive.mean.numpy() for predictive in _predictives(stack, unit_vectors, n_samples)])

    def moments_at_probes(self, stack: StackedFits, n_samples: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return mean and variance (B, 2 D) of each fit's outputs at `probes`, and the number S of samples.

        The variance is the predictive variance minus the noise variance. It is therefore also right for methods that
        predict by one Gaussian instead of samples. It is negative if a predictive contains too little noise.

        Raises:
            TypeError: if predictives are not `Normals`.
        """
        rows = np.arange(len(self.x), len(self.x) + len(self.probes))
        predictives = list(_predictives(stack, rows, n_samples))
        if not isinstance(predictives[0], Normals):
            kind = type(predictives[0]).__name__
            raise TypeError(
                f"a method with `weight_posterior` must predict Normals, got {kind}; declare `weight_posterior = False`"
            )
        n_drawn = len(predictives[0].mean)
        between = [each.mean.double().var(0, correction=min(1, n_drawn - 1)).numpy() for each in predictives]
        within = [each.variance.double().mean(0).numpy() - 1 / self.beta for each in predictives]
        means = [each.mean.double().mean(0).numpy() for each in predictives]
        return np.stack(means), np.stack(between) + np.stack(within), n_drawn


def _predictives(stack: StackedFits, rows: np.ndarray, n_samples: int) -> Iterator[Normals]:
    """Yield each fit's predictive at the same rows, on the CPU."""
    predictives = cast("Iterator[Normals]", stack.predict([rows] * len(stack.fits), n_samples))  # it is a regression
    for predictive in predictives:
        yield type(predictive)(*(part.cpu() for part in predictive))


def correlated(seed: int, n_rows: int = 1000, alpha: float = 0.01, beta: float = 0.1) -> LinearProblem:
    """Return the two-dimensional problem of Brownlie 2022 (4.4.2.1): inputs of unit variance and covariance 0.5."""
    generator = np.random.default_rng(seed)
    x = generator.multivariate_normal(np.zeros(2), [[1, 0.5], [0.5, 1]], size=n_rows)
    theta = generator.normal(0, alpha**-0.5, size=2)
    return LinearProblem(x, x @ theta + generator.normal(0, beta**-0.5, size=n_rows), alpha, beta)


def orthogonal(seed: int, n_rows: int = 60, dim: int = 3, alpha: float = 1.0, beta: float = 1.0) -> LinearProblem:
    """Return a problem whose posterior is a factorised Gaussian: the columns of x are orthogonal, of norm sqrt(N)."""
    generator = np.random.default_rng(seed)
    x = np.linalg.qr(generator.standard_normal((n_rows, dim))).Q * np.sqrt(n_rows)
    theta = generator.normal(0, alpha**-0.5, size=dim)
    return LinearProblem(x, x @ theta + generator.normal(0, beta**-0.5, size=n_rows), alpha, beta)


def strong_prior(seed: int, n_rows: int = 60, dim: int = 3, alpha: float = 2.0, beta: float = 0.1) -> LinearProblem:
    """Return a problem with correlated inputs whose prior is about as strong as its data.

    x^T x = N C (I - 0.9/D 1 1^T) C, with C diagonal from 0.7 to 1.3. The posterior covariance is then the sum of a
    diagonal matrix and a matrix of rank one, which factor analysis can represent. The true weights are three prior
    standard deviations from zero, so that a wrong prior would change the posterior mean much.
    """
    generator = np.random.default_rng(seed)
    orthonormal = np.linalg.qr(generator.standard_normal((n_rows, dim))).Q
    scales = np.linspace(0.7, 1.3, dim)
    covariance = scales[:, None] * (np.eye(dim) - 0.9 / dim) * scales
    x = np.sqrt(n_rows) * orthonormal @ np.linalg.cholesky(covariance).T
    theta = 3 * alpha**-0.5 * (-1.0) ** np.arange(dim)
    return LinearProblem(x, x @ theta + generator.normal(0, beta**-0.5, size=n_rows), alpha, beta)
