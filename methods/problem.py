"""What one fit is about: the task in general, and one training set in particular."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor
from torch.func import vmap

from methods.likelihoods import Gaussian, Predictive
from methods.networks import Network
from methods.noise import Noise


@dataclass(frozen=True)
class Task:
    """A data set, a likelihood and a network: what a method is asked to do, before any data is seen.

    Attributes:
        name: of the data set.
        likelihood: of the targets given the network's outputs.
        network: the task's own; a method may train another (`Method.network`).
    """

    name: str
    likelihood: Gaussian
    network: Network


class Batch(NamedTuple):
    """L minibatches of M training examples each, standardised."""

    x: Tensor  # (L, M, P)
    y: Tensor  # (L, M)


class Step(NamedTuple):
    """Where in training an update stands; all fits of a stack share it."""

    count: Tensor  # (), 1 for the first update: arithmetic only, never a branch
    phase: object  # what `Method.phase` said of this update: branch freely


@dataclass(frozen=True)
class Problem:
    """One network to be fitted to one training set.

    x and y are standardised with the mean and scale of this fit's own training rows, so weights live in standardised
    units, while `noise_precision` and every `Predictive` are in original target units.

    Attributes:
        network: maps weights (D,) and x (M, P) to outputs (M, O).
        likelihood: of y given the outputs.
        n_train: (), N, the number of training rows.
        y_mean: (), subtracted from targets.
        y_scale: (), divides targets.
    """

    network: Network
    likelihood: Gaussian
    n_train: Tensor
    y_mean: Tensor
    y_scale: Tensor

    @property
    def dim(self) -> int:
        """D, the number of weights."""
        return self.network.dim

    def initial_weights(self, noise: Noise) -> Tensor:
        """Weights (D,) to start training from, as the network suggests."""
        return self.network.initial_weights(noise)

    def mean_nll(self, weights: Tensor, batch: Batch, hparams) -> Tensor:
        """1/|B| sum over the batch of -log p(y | x, weights): (), nats per example, standardised units.

        `batch.x` may have any number of leading axes before (M, P): all examples count alike.
        """
        x = batch.x.flatten(0, batch.y.ndim - 1)
        return self.likelihood.nll(self.network(weights, x), batch.y.flatten(), hparams, self.y_scale).mean()

    def predictive(self, weights: Tensor, x: Tensor, hparams) -> Predictive:
        """The predictive at standardised x (n, P) of S weight samples (S, D)."""
        outputs = vmap(self.network, in_dims=(0, None))(weights, x)
        return self.likelihood.predictive(outputs, hparams, self.y_mean, self.y_scale)
