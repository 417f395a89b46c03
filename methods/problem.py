"""Inputs of a method's functions: the task, the training problem with its hyper-parameters, and minibatches."""

from collections.abc import Hashable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.func import vmap

from lockstep_bench.methods.maths.likelihoods import Likelihood
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.methods.networks.mlp import Network


@dataclass(frozen=True)
class Task:
    """A learning task: the name of a data set, a likelihood and a network, without the data.

    Attributes:
        name: name of the data set.
        likelihood: likelihood of the targets given the network's outputs. A method may use another
            (`Method.likelihood`).
        network: network that is trained by default. A method may train another (`Method.network`).
        pretrained: whether all layers but the last start from weights that were trained on other data.
        has_reference: whether the posterior is compared with a reference posterior under the prior
            N(0, I / prior_precision). A method should then have this prior.
    """

    name: str
    likelihood: Likelihood
    network: Network
    pretrained: bool = False
    has_reference: bool = False


class Batch(NamedTuple):
    """L minibatches of M training examples each; x is standardised, and y too where it is a real number.

    Attributes:
        x: (L, M, P), standardised inputs.
        y: (L, M), targets.
        present: (L, M), 1 for a training row and 0 for a padding row of a full batch, whose x and y are meaningless.
            None if there is no padding.
    """

    x: Tensor
    y: Tensor
    present: Tensor | None = None


class Sweep(NamedTuple):
    """A part of the training rows, as `Method.sweep` gets them in one pass over all training rows.

    Attributes:
        x: (M, P), standardised.
        y: (M,), standardised where it is a real number.
        present: (M,), 1 for a training row and 0 for padding, whose x and y are meaningless.
    """

    x: Tensor
    y: Tensor
    present: Tensor


FULL_LR = "full_lr"  # name under which a scheduled fit's hyper-parameters hold the rate before the schedule


class Step(NamedTuple):
    """Position of an update in training, the same for all fits that are trained together.

    Attributes:
        count: (), 1 for the first update. Use it in arithmetic only, never in a branch.
        phase: the return value of `Method.phase` for this update. Branch on it freely.
    """

    count: Tensor  # type: ignore[assignment]  # hides `tuple.count`, which has no use here
    phase: Hashable


class HParams(SimpleNamespace):
    """The hyper-parameters of one fit, each an attribute that holds a tensor ().

    Raises:
        AttributeError: a name is read that the method's search space does not have.
    """

    if TYPE_CHECKING:  # the attributes of a SimpleNamespace are of type Any

        def __getattribute__(self, name: str) -> Tensor: ...

    def __getattr__(self, name: str) -> Tensor:
        raise AttributeError(f"there is no hyper-parameter {name!r}; the search space has {', '.join(vars(self))}")


@dataclass(frozen=True)
class Problem:
    """One network to be fitted to one training set, with hyper-parameters.

    x, and y where it is a real number, are standardised with the mean and scale of this fit's own training rows.
    Weights therefore live in standardised units. `noise_precision` and every `Predictive` are in original target units.

    Attributes:
        network: maps weights (D,) and x (M, P) to outputs (M, O).
        likelihood: likelihood of y given the outputs.
        hparams: the hyper-parameters, as in `problem.hparams.lr`.
        n_train: (), N, the number of training rows.
        y_mean: (), subtracted from targets; 0 for classes.
        y_scale: (), divides targets; 1 for classes.
        start: pretrained weights of all layers but the last, from which training starts; None for a random start.
    """

    network: Network
    likelihood: Likelihood
    hparams: HParams
    n_train: Tensor
    y_mean: Tensor
    y_scale: Tensor
    start: Tensor | None = None

    @property
    def dim(self) -> int:
        """D, the number of weights."""
        return self.network.dim

    @property
    def full_lr(self) -> Tensor:
        """The learning rate () without the factor of the protocol's schedule, which `hparams.lr` includes.

        This rate is for parameters with a schedule of their own, as in the second stage of VIFA.
        """
        return torch.as_tensor(vars(self.hparams).get(FULL_LR, self.hparams.lr))

    def initial_weights(self, noise: Noise) -> Tensor:
        """Return weights (D,) to start training from: pretrained ones as far as `start` has them, else random ones.

        Raises:
            ValueError: if `start` belongs to another network.
        """
        weights = self.network.initial_weights(noise)
        if self.start is None:
            return weights
        given, wanted = len(self.start), self.dim - sum(self.network.layers[-1].sizes)
        if given != wanted:
            kind = type(self.network).__name__
            raise ValueError(f"got {given} pretrained weights; the {kind} needs {wanted}, those before its last layer")
        return torch.cat([self.start, weights[given:]])

    def nll(self, weights: Tensor, batch: Batch) -> Tensor:
        """Return the mean of -log p(y | x, weights) over a batch: (), nats per example, of standardised targets.

        Args:
            weights: (D,), weights of the network.
            batch: the batch. Its x may have any number of axes before (M, P); the mean is over all examples.
        """
        x = batch.x.flatten(0, batch.y.ndim - 1)
        each = self.nll_of_outputs(self.network(weights, x), batch.y.flatten())
        return each.mean() if batch.present is None else (batch.present.flatten() * each).sum() / batch.present.sum()

    def log_posterior(self, weights: Tensor, batch: Batch) -> Tensor:
        """Return log p(weights | training rows) under the prior N(0, I / prior_precision), up to a constant: ().

        A full batch gives it exactly, a minibatch an unbiased estimate.
        """
        return -self.n_train * self.nll(weights, batch) - 0.5 * self.hparams.prior_precision * weights.square().sum()

    def expected_nll(self, samples: Tensor, batch: Batch) -> Tensor:
        """Return the mean of `nll` over weight samples (S, D): (), nats per example."""
        if len(samples) == 1:  # convolutions are slower under `vmap`
            return self.nll(samples[0], batch)
        return vmap(self.nll, in_dims=(0, None))(samples, batch).mean()

    def elbo(self, negative_elbo: Tensor) -> Tensor:
        """Return the ELBO of targets in original units, (), nats, given the negative ELBO of standardised targets."""
        return -negative_elbo - self.n_train * self.y_scale.log()

    def nll_of_outputs(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return -log p(y | outputs) per example (..., M), nats, for outputs (..., M, O) and targets y (M,)."""
        return self.likelihood.nll(outputs, y, self.hparams, self.y_scale)

    def draw(self, outputs: Tensor, noise: Noise) -> Tensor:
        """Return a target (M,) drawn from p(y | outputs) for each example, for outputs (M, O)."""
        return self.likelihood.draw(outputs, self.hparams, self.y_scale, noise)

    def fisher(self, outputs: Tensor) -> Tensor:
        """Return the Fisher information matrix of each example's outputs, (M, O, O), at outputs (M, O)."""
        return self.likelihood.fisher(outputs, self.hparams, self.y_scale)

    @property
    def scale(self) -> Tensor:
        """The expected curvature of the NLL in the outputs, (), if it is the same at all outputs; otherwise 1.

        Dividing an objective by this value gives it the units of a squared error of standardised targets. One range of
        SGD's learning rate then serves every data set and every noise precision.
        """
        return self.likelihood.scale(self.hparams, self.y_scale)

    def predictive(self, samples: Tensor, x: Tensor) -> Predictive:
        """Return the predictive of weight samples (S, D) at standardised inputs x (n, P), in original target units."""
        return self.predictive_of_outputs(vmap(self.network, in_dims=(0, None))(samples, x))

    def predictive_of_outputs(self, outputs: Tensor) -> Predictive:
        """Return the predictive of sampled network outputs (S, n, O), in original target units."""
        return self.likelihood.predictive(outputs, self.hparams, self.y_mean, self.y_scale)
