"""The library `posteriors`: variational inference, Laplace and SGLD of a log posterior that the user writes.

The wrappers give it the exact log posterior of all training rows, so that its temperature stays 1. Steps of SGLD are
relative to the curvature N c + alpha of the negative log posterior, where c is the likelihood's curvature per row.
"""

from typing import Any

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from benchmarks.libraries.wrapping import (
    BLUNDELL,
    DRAWS,
    LANGEVIN_RATES,
    Wrapper,
    langevin_rate,
    minimised,
    precisions,
    spaced_draws,
)
from lockstep_bench.methods.api import Batch, LogUniform, Paper, Problem, Task

INITIAL_SD = 0.1


class OfPosteriors(Wrapper):
    """Base of the wrappers of `posteriors`."""

    requirement = "posteriors==0.1.3"
    ranges_from = "ours: the library states none"

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(3e-3, 3e-2), **precisions(task)}

    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        usual = torch.get_default_dtype()
        torch.set_default_dtype(x.dtype)  # in which the library makes its matrices and draws its noise
        try:
            return super().fit(problem, x, y, seed)
        finally:
            torch.set_default_dtype(usual)

    def density(self, problem: Problem, x: Tensor, y: Tensor) -> Any:
        """Return the log posterior as the library takes it: (weights, batch) -> value and further results."""
        batch, nothing = Batch(x[None], y[None]), torch.tensor([])
        return lambda weights, _: (problem.log_posterior(weights, batch), nothing)

    def last(self, transform: Any, problem: Problem) -> Any:
        """Return the state after all updates from small random weights."""
        state = transform.init(INITIAL_SD * torch.randn(problem.dim, dtype=problem.n_train.dtype))
        for _ in range(self.updates_of_library):
            state, _ = transform.update(state, None)
        return state

    def chain(self, transform: Any, problem: Problem) -> Tensor:
        """Return draws (S, D) of a Markov chain."""
        state, states = transform.init(INITIAL_SD * torch.randn(problem.dim, dtype=problem.n_train.dtype)), []
        for _ in range(self.updates_of_library):
            state, _ = transform.update(state, None)
            states.append(state.params)
        return spaced_draws(states)


class DiagonalVI(OfPosteriors):
    """`vi.diag` with Adam."""

    name, title, paper = "posteriors-vi-diag", "posteriors: vi.diag", BLUNDELL
    covariance = "diagonal"
    judged_against = "the best Gaussian with independent weights"

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        import posteriors
        import torchopt

        optimiser = torchopt.adam(lr=float(problem.hparams.lr))
        transform = posteriors.vi.diag.build(self.density(problem, x, y), optimiser, init_log_sds=-3.0)
        samples: Tensor = posteriors.vi.diag.sample(self.last(transform, problem), torch.Size([DRAWS]))
        return samples


class DenseVI(OfPosteriors):
    """`vi.dense` with Adam."""

    name, title = "posteriors-vi-dense", "posteriors: vi.dense"
    paper = Paper("Challis and Barber 2013", "Gaussian Kullback-Leibler Approximate Inference")

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        import posteriors
        import torchopt

        optimiser = torchopt.adam(lr=float(problem.hparams.lr))
        transform = posteriors.vi.dense.build(self.density(problem, x, y), optimiser, init_L=0.05)
        samples: Tensor = posteriors.vi.dense.sample(self.last(transform, problem), torch.Size([DRAWS]))
        return samples


class DenseLaplace(OfPosteriors):
    """`laplace.dense_ggn` at weights that L-BFGS has trained."""

    name, title = "posteriors-laplace", "posteriors: laplace.dense_ggn"
    paper = Paper("Daxberger et al. 2021", "Laplace Redux: Effortless Bayesian Deep Learning")

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return precisions(task)

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        from posteriors.laplace import dense_ggn

        batch, identity = Batch(x[None], y[None]), torch.eye(problem.dim, dtype=x.dtype)
        weights = (0.3 * torch.randn(problem.dim, dtype=x.dtype)).requires_grad_()
        minimised(lambda: -problem.log_posterior(weights, batch), [weights], self.updates_of_library)
        transform = dense_ggn.build(
            lambda params, _: (problem.network(params, x), torch.tensor([])),
            lambda outputs, _: -problem.nll_of_outputs(outputs, y).sum(),
        )
        state = dense_ggn.init(weights.detach(), float(problem.hparams.prior_precision) * identity)
        state, _ = transform.update(state, None)
        samples: Tensor = dense_ggn.sample(state, torch.Size([DRAWS]))
        return samples


class SGLD(OfPosteriors):
    """`sgmcmc.sgld` at a constant rate. `lr` is relative to 1 / (N c + alpha)."""

    name, title = "posteriors-sgld", "posteriors: sgmcmc.sgld"
    paper = Paper("Welling and Teh 2011", "Bayesian Learning via Stochastic Gradient Langevin Dynamics")
    usual_updates = 2500

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LANGEVIN_RATES, **precisions(task)}

    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        from posteriors.sgmcmc import sgld

        return self.chain(sgld.build(self.density(problem, x, y), lr=langevin_rate(problem)), problem)


METHODS = (DiagonalVI, DenseVI, DenseLaplace, SGLD)
