"""SGHMC without its injected noise: a control that pools as many networks as `sghmc`, and samples nothing.

An update is

    v <- (1 - a) v - h P grad u,      theta <- theta + v,

with the symbols of `methods.sghmc`: SGD with momentum and a step length for each weight. Burn-in, preconditioner, limit
of the force, chains, kept networks and search ranges are those of `sghmc`. What is left of a chain's spread comes from
its minibatches. A difference between the two is therefore due to the injected noise, and to what tuning makes of its
absence, and not to the number of networks.
"""

import torch
from torch import Tensor

from lockstep_bench.methods.api import Batch, Noise, Problem, Step
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.sghmc import SGHMC, SGHMCState


@catalogued("sghmc-noiseless")
class SGHMCWithoutNoise(SGHMC):
    """Iterates of `sghmc` without injected noise, pooled over chains. Arguments and hyper-parameters are the same."""

    def update(
        self, problem: Problem, state: SGHMCState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SGHMCState, dict[str, Tensor]]:
        return super().update(problem, state, batch, Noise(torch.zeros_like(state.weights)), step)
