"""The library `torch-uncertainty`: Bayesian layers with a mean-field posterior, and an optimiser that samples.

`KLDiv` averages over layers, as its documentation says; therefore the wrapper's `kl_weight` is L / N for L layers. SGLD
gets the sum over all rows as its loss. Its `noise_factor` is 1; the default, 0.01, makes a hundredth of the noise.
"""

from collections.abc import Iterable
from typing import Any

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor, nn

from benchmarks.libraries.wrapping import (
    BLUNDELL,
    DRAWS,
    LANGEVIN_RATES,
    GaussianNLL,
    Wrapper,
    flat,
    langevin_rate,
    layers,
    precisions,
    spaced_draws,
)
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.methods.api import LogUniform, Paper, Problem, Task

INITIAL_RHO = -3.0


class BayesLinear(Wrapper):
    """`BayesLinear` layers with `ELBOLoss` and Adam. The prior is a mixture with one component."""

    name, title, paper = "torch-uncertainty-vi", "torch-uncertainty: BayesLinear", BLUNDELL
    requirement = "torch-uncertainty[cpu]==0.13.0"
    ranges_from = "ours: the library states none"
    covariance = "diagonal"
    judged_against = "the best Gaussian with independent weights"

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(3e-3, 3e-2), **precisions(task)}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        torchvision()
        from torch_uncertainty.layers.bayesian import BayesLinear as Layer
        from torch_uncertainty.losses import ELBOLoss

        prior_sd = float(problem.hparams.prior_precision.rsqrt())

        def bayesian(inputs: int, outputs: int, bias: bool) -> nn.Module:
            layer: nn.Module = Layer(inputs, outputs, prior_sd, prior_sd, 1, sigma_init=INITIAL_RHO, bias=bias)
            return layer

        model = layers(problem, bayesian)
        x, y = x.float(), y.float()[:, None]
        weight = len(problem.network.layers) / len(x)
        loss = ELBOLoss(model, GaussianNLL(problem.scale.float()), weight, num_samples=1)
        optimiser = torch.optim.Adam(model.parameters(), lr=float(problem.hparams.lr))
        for _ in range(self.updates_of_library):
            optimiser.zero_grad()
            loss(x, y).backward()
            optimiser.step()
        stochastic: Any = model[::2]
        samples = [flat(piece for layer in stochastic for piece in layer.sample()) for _ in range(DRAWS)]
        return torch.stack(samples).to(problem.n_train.dtype)


class Sampler(Wrapper):
    """Base of the optimisers that sample."""

    requirement = "torch-uncertainty[cpu]==0.13.0"
    usual_updates = 2500
    ranges_from = "ours: the library states none"

    def optimiser(self, parameters: Iterable[Tensor], problem: Problem) -> Any:
        """Return the library's optimiser."""
        raise NotImplementedError

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        model, nll, states = layers(problem, nn.Linear).to(x.dtype), GaussianNLL(problem.scale), []
        optimiser = self.optimiser(model.parameters(), problem)
        for _ in range(self.updates_of_library):
            optimiser.zero_grad()
            (len(x) * nll(model(x), y[:, None])).backward()
            optimiser.step()
            states.append(flat(model.parameters()).detach())
        return spaced_draws(states)


class SGLD(Sampler):
    """`SGLD` at a constant rate. `lr` is relative to 1 / (N c + alpha)."""

    name, title = "torch-uncertainty-sgld", "torch-uncertainty: SGLD, noise_factor = 1"
    paper = Paper("Welling and Teh 2011", "Bayesian Learning via Stochastic Gradient Langevin Dynamics")
    noise_factor = 1.0

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LANGEVIN_RATES, **precisions(task)}

    def optimiser(self, parameters: Iterable[Tensor], problem: Problem) -> Any:
        torchvision()
        from torch_uncertainty.optim import SGLD as Optimiser

        rate, alpha = langevin_rate(problem), float(problem.hparams.prior_precision)
        return Optimiser(parameters, lr=rate, noise_factor=self.noise_factor, weight_decay=alpha)


class DefaultSGLD(SGLD):
    """`SGLD` with the default noise."""

    name, title = "torch-uncertainty-sgld-defaults", "torch-uncertainty: SGLD, default noise_factor = 0.01"
    noise_factor = 0.01


METHODS = (BayesLinear, SGLD, DefaultSGLD)
