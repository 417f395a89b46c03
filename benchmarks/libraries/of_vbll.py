"""The library `vbll`: a variational Bayesian last layer, trained together with the layers below it.

`vbll.Regression` learns the variance of the noise; the wrapper fixes it, because the checks give the noise precision.
The library divides `prior_scale` by the number of features, so the wrapper multiplies by it. `regularization_weight` is
1 / N. The other layers have weight decay. Adam's running mean of squared gradients has a short memory, because the
library's random initial covariances give huge gradients. The library's last layer has no bias, so a column of ones is
added to its inputs.
"""

from itertools import chain

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor, nn
from torch.nn.functional import pad

from benchmarks.libraries.wrapping import DRAWS, Wrapper, flat, layers, precisions
from lockstep_bench.methods.api import LogUniform, Paper, Problem, Task


class VBLL(Wrapper):
    """`vbll.Regression` with a dense covariance and Adam."""

    name, title, parameterization = "vbll-dense", "vbll: dense", "dense"
    paper = Paper("Harrison et al. 2024", "Variational Bayesian Last Layers")
    requirement = "vbll==0.4.9"
    ranges_from = "ours: the library states none"
    usual_updates = 800

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(0.01, 0.1), **precisions(task)}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        import vbll

        network, alpha = layers(problem, nn.Linear).to(x.dtype), float(problem.hparams.prior_precision)
        below, last = network[:-1], problem.network.layers[-1]
        ones = len(last.sizes) - 1
        width = last.sizes[0] + ones
        head = vbll.Regression(width, 1, 1 / len(x), self.parameterization, prior_scale=width / alpha).to(x.dtype)
        head.noise_logdiag.requires_grad_(False).fill_(-0.5 * problem.scale.log())
        free = [weight for weight in head.parameters() if weight.requires_grad]
        optimiser = torch.optim.Adam(chain(below.parameters(), free), lr=float(problem.hparams.lr), betas=(0.9, 0.99))
        for _ in range(self.updates_of_library):
            optimiser.zero_grad()
            loss = head(pad(below(x), (0, ones), value=1.0)).train_loss_fn(y[:, None])
            decay = sum((weight.square().sum() for weight in below.parameters()), torch.zeros(()))
            (loss + 0.5 * alpha / len(x) * decay).backward()
            optimiser.step()
        samples = head.W().sample((DRAWS,))[:, 0]
        size = width - ones
        return torch.stack([flat([*below.parameters(), one[None, :size], one[size:]]) for one in samples])


class DiagonalVBLL(VBLL):
    """`vbll.Regression` with a diagonal covariance."""

    name, title, parameterization = "vbll-diagonal", "vbll: diagonal", "diagonal"
    covariance = "diagonal"
    judged_against = "the best Gaussian with independent weights"


METHODS = (VBLL, DiagonalVBLL)
