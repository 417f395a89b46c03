"""The library `ivon-opt`: variational inference in an optimiser, by the authors of IVON.

`ess` is the number of rows and `weight_decay` is alpha / N, as the paper says. `beta2`, the decay of the average of the
Hessian, is 0.999 in the first wrapper, because a fit here has thousands of updates; 0.99999, the library's default, is
for 10^5 and more.
"""

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor, nn

from benchmarks.libraries.wrapping import DRAWS, GaussianNLL, Wrapper, flat, layers, precisions
from lockstep_bench.methods.api import LogUniform, Paper, Problem, Task


class IVON(Wrapper):
    """IVON with a faster average of the Hessian. Hyper-parameters: `lr`, `hess_init` and both precisions."""

    name, title = "ivon-opt", "ivon-opt: beta2 = 0.999"
    paper = Paper("Shen et al. 2024", "Variational Learning is Effective for Large Deep Networks")
    requirement = "ivon-opt==0.1.3"
    ranges_from = "ours, around the paper's rates of 0.1 to 0.2 and its `hess_init` of 0.1 to 1"
    covariance = "diagonal"
    judged_against = "the best Gaussian with independent weights"
    usual_updates = 3000
    decay = 0.999

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(0.03, 0.3), "hess_init": LogUniform(0.1, 1.0), **precisions(task)}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        import ivon

        model, nll = layers(problem, nn.Linear).to(x.dtype), GaussianNLL(problem.scale)
        optimiser = ivon.IVON(
            model.parameters(),
            lr=float(problem.hparams.lr),
            ess=len(x),
            hess_init=float(problem.hparams.hess_init),
            beta2=self.decay,
            weight_decay=float(problem.hparams.prior_precision) / len(x),
        )
        for _ in range(self.updates_of_library):
            with optimiser.sampled_params(train=True):
                optimiser.zero_grad()
                nll(model(x), y[:, None]).backward()
            optimiser.step()
        samples = []
        for _ in range(DRAWS):
            with optimiser.sampled_params():
                samples.append(flat(model.parameters()).detach())
        return torch.stack(samples)


class DefaultIVON(IVON):
    """IVON with the library's default `beta2`."""

    name, title = "ivon-opt-defaults", "ivon-opt: default beta2 = 0.99999"
    decay = 0.99999


METHODS = (IVON, DefaultIVON)
