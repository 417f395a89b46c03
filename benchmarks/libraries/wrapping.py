"""Common parts of the wrappers: the library's draws of the weights become a predictive distribution of the benchmark.

A wrapper trains by the library on all rows at once and returns draws of the weights that the library's own sampler
makes. The noise precision is given and not learned, as the checks demand.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor, nn

from lockstep_bench.methods.api import FullBatchMethod, LogUniform, Noise, Paper, Predictive, Problem, Task

DRAWS = 500  # of the weights, kept as the posterior
LANGEVIN_RATES = LogUniform(0.03, 0.3)  # relative to the curvature of the log posterior


class Wrapper(FullBatchMethod):
    """Base of a method of another library, for regressions with noise of one precision.

    Attributes:
        requirement: the library and its version, as pip takes it.
        ranges_from: where the ranges of `search_space` come from.
        judged_against: the posterior with which the method is compared.
        all_checks: False to run only the checks of the table's three columns, because a fit takes long.

    Args:
        updates: number of the library's updates of a fit; by default as many as recover the posterior of a linear
            model.
    """

    requirement: ClassVar[str]
    ranges_from: ClassVar[str]
    judged_against: ClassVar[str] = "the exact posterior"
    all_checks: ClassVar[bool] = True
    usual_updates: ClassVar[int] = 1000

    likelihoods = ("gaussian",)
    weight_posterior = True
    suites = ()

    def __init__(self, updates: int | None = None):
        self.updates_of_library = updates or self.usual_updates

    @abstractmethod
    def draws(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        """Return draws (S, D) of the network's weights. torch's global generator is seeded."""

    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> Tensor:
        with seeded(seed):
            return self.draws(problem, x, y, seed).detach()

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        n_samples = min(n_samples, len(posterior))
        spaced = torch.linspace(0, len(posterior) - 1, n_samples).long()
        return problem.predictive(posterior[spaced].to(x), x)

    def wide_space(self, task: Task) -> dict[str, BaseDistribution]:
        """Return the ranges of `search_space`, because a wider space would no longer be the library's own."""
        return self.search_space(task)


def precisions(task: Task) -> dict[str, BaseDistribution]:
    """Return the ranges of the prior precision and of the noise precision, which are those of our own methods."""
    return {"prior_precision": LogUniform(0.01, 10), **task.likelihood.search_space()}


def langevin_rate(problem: Problem) -> float:
    """Return the step size of Langevin dynamics: `lr` over (N times the noise precision + the prior precision)."""
    return float(problem.hparams.lr / (problem.n_train * problem.scale + problem.hparams.prior_precision))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator, from which libraries draw, and restore its state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class GaussianNLL(nn.Module):
    """Mean of -log N(y; f, 1 / precision) over rows, without constants, for outputs f (M, 1) and targets (M, 1)."""

    def __init__(self, precision: Tensor):
        super().__init__()
        self.precision = precision

    def forward(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the mean of -log N(y; output, 1 / precision) over rows, without constants: ()."""
        return 0.5 * self.precision * (outputs - y).square().mean()


def layers(problem: Problem, linear: Callable[[int, int, bool], nn.Module]) -> nn.Sequential:
    """Return the problem's network as a module, whose layers `linear(inputs, outputs, bias)` makes."""
    parts: list[nn.Module] = []
    for layer in problem.network.layers:
        inputs, outputs = layer.fan_in, layer.fan_out  # type: ignore[attr-defined]
        parts += [linear(inputs, outputs, len(layer.sizes) == 2), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def flat(pieces: Iterable[Tensor | None]) -> Tensor:
    """Return weights (D,) of the problem's network from those of a module: kernels (O, P) and biases (O,) in turn."""
    return torch.cat([piece.T.reshape(-1) if piece.ndim == 2 else piece for piece in pieces if piece is not None])


def minimised(objective: Callable[[], Tensor], parameters: list[Tensor], updates: int) -> None:
    """Minimise an objective without noise by at most `updates` iterations of L-BFGS, in place."""
    optimiser = torch.optim.LBFGS(parameters, max_iter=updates, line_search_fn="strong_wolfe", tolerance_grad=1e-9)

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = objective()
        value.backward()
        return value

    optimiser.step(closure)


def spaced_draws(chain: list[Tensor]) -> Tensor:
    """Return `DRAWS` evenly spaced states (S, D) of a chain after its first quarter."""
    kept = chain[len(chain) // 4 :]
    chosen = torch.linspace(0, len(kept) - 1, min(DRAWS, len(kept))).long()
    return torch.stack([kept[number] for number in chosen.tolist()])


BLUNDELL = Paper("Blundell et al. 2015", "Weight Uncertainty in Neural Networks")
