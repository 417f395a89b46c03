"""The library `lightning-uq-box`: Bayes by Backprop with one sample of the weights per update.

The wrapper calls the module's `compute_elbo_loss` and `configure_optimizers` in a loop of its own, because Lightning's
Trainer takes longer than these fits. `prior_sigma` is the prior's standard deviation. `beta` is the number of weights,
as the documentation says: the library averages the divergence over the weights of a tensor. 0.2.0 is the newest version
for Python 3.11.
"""

from functools import partial
from typing import Any

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor, nn

from benchmarks.libraries.wrapping import BLUNDELL, DRAWS, GaussianNLL, Wrapper, flat, layers, precisions
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.methods.api import LogUniform, Problem, Task

INITIAL_RHO = -3.0


class VI(Wrapper):
    """`BNN_VI_ELBO_Regression` with Adam."""

    name, title = "lightning-uq-box-vi", "lightning-uq-box: BNN_VI_ELBO, beta = number of weights"
    paper = BLUNDELL
    requirement = "lightning-uq-box==0.2.0"
    ranges_from = "ours, around the 3e-3 of the library's tutorial"
    covariance = "diagonal"
    judged_against = "the best Gaussian with independent weights"
    beta: float | None = None

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(3e-3, 3e-2), **precisions(task)}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        torchvision()
        from lightning_uq_box.uq_methods import BNN_VI_ELBO_Regression

        module = BNN_VI_ELBO_Regression(
            layers(problem, nn.Linear),
            GaussianNLL(problem.scale.float()),
            burnin_epochs=0,
            beta=self.beta or problem.dim,
            num_mc_samples_train=1,
            prior_sigma=float(problem.hparams.prior_precision.rsqrt()),
            posterior_rho_init=INITIAL_RHO,
            optimizer=partial(torch.optim.Adam, lr=float(problem.hparams.lr)),
        )
        module.num_training_points = len(x)
        optimiser = module.configure_optimizers()["optimizer"]
        x, y = x.float(), y.float()[:, None]
        for _ in range(self.updates_of_library):
            optimiser.zero_grad()
            loss, _ = module.compute_elbo_loss(x, y)
            loss.backward()
            optimiser.step()
        return torch.stack([_draw(module.model) for _ in range(DRAWS)]).to(problem.n_train.dtype)


def _draw(model: nn.Sequential) -> Tensor:
    pieces: list[Tensor | None] = []
    stochastic: Any = model[::2]
    for layer in stochastic:
        weight, bias = layer.sample_weights(1)
        pieces += [layer.mu_weight + weight[0], layer.mu_bias + bias[0] if layer.bias else None]
    return flat(pieces)


class DefaultVI(VI):
    """`BNN_VI_ELBO_Regression` with the default weight of the divergence."""

    name, title = "lightning-uq-box-vi-defaults", "lightning-uq-box: BNN_VI_ELBO, default beta = 100"
    beta = 100.0


METHODS = (VI, DefaultVI)
