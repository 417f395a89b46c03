"""A series: the fits of one method on one task, whose networks are trained one after the other.

A series is the counterpart of a stack (`bench.engine.stack`) for large networks. Seeds and the order of minibatches are
the same. Random numbers are drawn only when a method asks for them, because those of a whole update would take several
times the memory of the weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.private_torch import tree_map
from lockstep_bench.bench.engine.replica import Data, Fit, Replica, ReplicaModel, replicas_of
from lockstep_bench.bench.engine.vectorise import replica_of
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.shared.seeds import seed_of

POINTS_AT_ONCE = 1000  # images that are predicted, or swept, together
REFERENCE_ROWS = 500  # training images from which batch normalisation takes its statistics when it predicts
LARGE = 3 * 128 * 128  # images of this many numbers or more: both are a tenth of that, to save memory


@dataclass(frozen=True)
class Series:
    """B fits of one model on one data set of images.

    Attributes:
        model: the method on its task, as functions of one network.
        data: data that all fits share.
        fits: the B fits.
        replicas: size, standardisation and hyper-parameters of each fit.
    """

    model: ReplicaModel
    data: Data
    fits: tuple[Fit, ...]
    replicas: tuple[Replica, ...]

    @classmethod
    def of(cls, model: ReplicaModel, data: Data, fits: Sequence[Fit], channels: int) -> "Series":
        """Return the series of some fits; images of `channels` channels are standardised channel by channel."""
        stacked = replicas_of(fits, data, model.dtype, standardise_x=True, standardise_y=False, channels=channels)
        replicas = [tree_map(lambda leaf: replica_of(leaf, number), stacked) for number in range(len(fits))]  # noqa: B023
        return cls(model, data, tuple(fits), tuple(replicas))

    @property
    def members(self) -> list[tuple[int, int]]:
        """For each network, the number of its fit and its number as a member of the ensemble."""
        return [(number, member) for number in range(len(self.fits)) for member in range(self.model.method.members)]

    @property
    def points_at_once(self) -> int:
        """Number of images that pass through the network at once in prediction, besides reference rows."""
        return self._fewer_if_large(POINTS_AT_ONCE)

    def reference(self, fit: Fit) -> Tensor:
        """Return the row numbers (R,) of the reference rows: training images that supply statistics in prediction.

        They pass through the network before the test images, for batch normalisation. R is 0 for networks without it.
        """
        n_rows = self._fewer_if_large(REFERENCE_ROWS) if self.model.network.couples_rows else 0
        order = np.random.default_rng(seed_of(fit.seed, "reference")).permutation(fit.rows)
        return torch.tensor(order[:n_rows], dtype=torch.int64, device=self.data.x.device)

    def noise(self, fit: Fit, *purpose: str | int) -> LiveNoise:
        """Return a source of random numbers, whose seed follows from the fit's seed and the purpose."""
        generator = torch.Generator(device=self.data.x.device).manual_seed(seed_of(fit.seed, *purpose))
        return LiveNoise(generator, self.model.dtype)

    def _fewer_if_large(self, number: int) -> int:
        return number if self.data.x.shape[1] < LARGE else number // 10
