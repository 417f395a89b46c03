"""What one fit is about: the task in general, and one training set in particular."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import vmap

from methods.maths.likelihoods import Likelihood
from methods.maths.noise import Noise
from methods.maths.predictive import Predictive
from methods.networks.mlp import Network


@dataclass(frozen=True)
class Task:
    """A data set, a likelihood and a network: what a method is asked to do, before any data is seen.

    Attributes:
        name: of the data set.
        likelihood: of the targets given the network's outputs; a method may use another (`Method.likelihood`).
        network: the task's own; a method may train another (`Method.network`).
        pretrained: whether training starts from weights that were trained on other data, all layers but the last.
    """

    name: str
    likelihood: Likelihood
    network: Network
    pretrained: bool = False


class Batch(NamedTuple):
    """L minibatches of M training examples each; x standardised, y too where it is a real number."""

    x: Tensor  # (L, M, P)
    y: Tensor  # (L, M)


class Sweep(NamedTuple):
    """A part of the training rows, each of which is dealt exactly once; some places may be empty."""

    x: Tensor  # (M, P)
    y: Tensor  # (M,)
    present: Tensor  # (M,), 1 for a row and 0 for an empty place, whose x and y mean nothing


class Step(NamedTuple):
    """Where in training an update stands; all fits of a stack share it."""

    count: Tensor  # (), 1 for the first update: arithmetic only, never a branch
    phase: object  # what `Method.phase` said of this update: branch freely


@dataclass(frozen=True)
class Problem:
    """One network to be fitted to one training set.

    x, and real-valued y, are standardised with the mean and scale of this fit's own training rows, so weights live in
    standardised units, while `noise_precision` and every `Predictive` are in original target units.

    Attributes:
        network: maps weights (D,) and x (M, P) to outputs (M, O).
        likelihood: of y given the outputs.
        n_train: (), N, the number of training rows.
        y_mean: (), subtracted from targets; 0 where they are classes.
        y_scale: (), divides targets; 1 where they are classes.
        start: trained weights of all layers but the last, to start from; None to start at random.
    """

    network: Network
    likelihood: Likelihood
    n_train: Tensor
    y_mean: Tensor
    y_scale: Tensor
    start: Tensor | None = None

    @property
    def dim(self) -> int:
        """D, the number of weights."""
        return self.network.dim

    def initial_weights(self, noise: Noise) -> Tensor:
        """Weights (D,) to start training from: as the network suggests, but for those that `start` gives.

        Raises ValueError where `start` is that of another network.
        """
        own = self.network.initial_weights(noise)
        if self.start is None:
            return own
        given, wanted = len(self.start), self.dim - sum(self.network.layers[-1].sizes)
        if given != wanted:
            kind = type(self.network).__name__
            raise ValueError(f"trained weights are {given}; the {kind} has {wanted} before its last layer")
        return torch.cat([self.start, own[given:]])

    def mean_nll(self, weights: Tensor, batch: Batch, hparams) -> Tensor:
        """1/|B| sum over the batch of -log p(y | x, weights): (), nats per example, y in the units it is dealt in.

        `batch.x` may have any number of leading axes before (M, P): all examples count alike.
        """
        x = batch.x.flatten(0, batch.y.ndim - 1)
        return self.likelihood.nll(self.network(weights, x), batch.y.flatten(), hparams, self.y_scale).mean()

    def scale(self, hparams) -> Tensor:
        """(), the curvature of the NLL in the outputs where that is a constant of the fit, else 1.

        Dividing an objective by it gives it the units of a squared error of standardised targets, in which one range
        of plain SGD's learning rate serves every data set and every noise precision.
        """
        return self.likelihood.scale(hparams, self.y_scale)

    def predictive(self, weights: Tensor, x: Tensor, hparams) -> Predictive:
        """The predictive at standardised x (n, P) of S weight samples (S, D)."""
        outputs = vmap(self.network, in_dims=(0, None))(weights, x)
        return self.likelihood.predictive(outputs, hparams, self.y_mean, self.y_scale)
