"""Online factor analysis (`methods.maths.factor_analysis`) of B streams: each vector is used once and not stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from lockstep_bench.bench.engine.graph_capture import capture
from lockstep_bench.bench.engine.private_torch import tree_flatten, tree_leaves, tree_unflatten
from lockstep_bench.bench.engine.random_streams import RandomStream
from lockstep_bench.bench.streams.fitting import FittedGaussian, Fitting
from lockstep_bench.methods.maths.factor_analysis import WARM_UP, ExpectationMaximisation, GradientAscent
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.shared.seeds import seed_of


class Online(Fitting):
    """Base of the online estimators, which update each Gaussian with one vector of its stream at a time.

    The tensor operations of the update are captured once as a graph (`bench.engine.graph_capture`), which is replayed
    for the later vectors.
    """

    execution = "captured"
    algorithm: type[ExpectationMaximisation] | type[GradientAscent]

    @torch.no_grad()
    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        # A single fit is duplicated: torch uses other kernels for a batch of one, which would change the last bits.
        seeds = [seed_of(seed, "init") for seed in self.seeds for _ in range(2 if len(self.seeds) == 1 else 1)]
        noise = next(RandomStream(seeds, self.dim * self.n_factors, self.dtype, torch.device("cpu")))
        init = vmap(lambda numbers: self.algorithm.init(self.dim, self.n_factors, Noise(numbers)))
        leaves, self._structure = tree_flatten(init(noise))
        self._state = [leaf.to(self.device) for leaf in leaves]
        self._count = 0
        self._steps: dict[bool, Callable[..., list[Tensor]]] = {}

    @property
    def n_parameters(self) -> int:
        return (self.n_factors + 2) * self.dim

    @torch.no_grad()
    def absorb(self, vectors: Tensor) -> None:
        rows = vectors.to(self.device, self.dtype).expand(len(self._state[0]), -1, -1)
        # Each step's vectors must be contiguous.
        for theta in rows.transpose(0, 1).contiguous():
            learn = self._count >= WARM_UP
            if learn not in self._steps:
                self._steps[learn] = self._captured(theta, learn)
            self._state = self._steps[learn](theta, *self._state)
            self._count += 1

    @torch.no_grad()
    def estimates(self) -> list[FittedGaussian]:
        normals = vmap(lambda state: state.normal())(tree_unflatten(self._state, self._structure))
        rows = zip(*(part[: len(self.seeds)].cpu().double().numpy() for part in normals), strict=True)
        return [FittedGaussian(mean, factors.T @ factors + np.diag(variance)) for mean, factors, variance in rows]

    def _captured(self, theta: Tensor, learn: bool) -> Callable[..., list[Tensor]]:
        def update(theta: Tensor, *leaves: Tensor) -> list[Tensor]:
            state = tree_unflatten(leaves, self._structure)
            return tree_leaves(vmap(lambda theta, state: state.update(theta, learn))(theta, state))

        return capture(update, [theta, *self._state], 0).forward


class OnlineEMFitting(Online):
    """Online EM (Brownlie 2022, Algorithm 2, without the misprint in its line 5)."""

    algorithm = ExpectationMaximisation


class OnlineSGAFitting(Online):
    """Online stochastic gradient ascent (Brownlie 2022, Algorithm 1, without the misprint in its line 5)."""

    algorithm = GradientAscent
