"""HMC: the posterior itself, sampled by NUTS, for as long as training may last.

No approximation: where its chains have converged, what it predicts is what every method of the same prior, likelihood
and network is after (`methods.mcmc.nuts` says what is sampled, and how). Whether they have is recorded with each
final fit:
the largest R-hat and the smallest effective sample size of the network's outputs at the training inputs, and how many
trajectories diverged. R-hat above 1.05 or so means that the chains disagree and the reference is not one.

It learns from all training rows at once and uses no minibatches, so what it takes from the protocol is the number of
updates: each stands for one transition of every chain, the first half of them warm-up, of which at most `TRANSITIONS`
are made. Tuning has one chain, of shorter trajectories. On one core of a 2.7 GHz Xeon, busy, a fit of 300 updates on
yacht took 141 s (noise precision and prior precision 1; all trajectories were of 1023 steps and R-hat was 1.05; of 255
steps, 37 s and 1.48, with three times the test RMSE). Time grows with the training rows: a step costs 68 us on yacht,
196 us on boston, 374 us on wine and 2.9 ms on naval, whose fit would take an hour.
"""

from typing import NamedTuple

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap

from methods.base import Method, Paper
from methods.maths.search_spaces import LogUniform
from methods.mcmc import nuts
from methods.networks.mlp import MLP
from methods.problem import Problem, Sweep, Task

CHAINS = 4
REHEARSED_DEPTH = 8  # of the one chain that tuning has
TRANSITIONS = 400  # of each chain; half are warm-up
LEAST_TRANSITIONS = 8  # or R-hat would have nothing to compare
MAX_WEIGHTS = 1000
KEPT = 500  # draws in a posterior, of all chains
OUTPUTS_AT_ONCE = 50  # draws whose outputs are computed side by side


class State(NamedTuple):
    """Attributes:
    seed: (2,), numbers whose bits seed the chains.
    updates: (), how many there have been.
    x, y, present: the training rows (N, P), (N,) and (N,) that the sweep has dealt.
    """

    seed: Tensor
    updates: Tensor
    x: Tensor
    y: Tensor
    present: Tensor


class Posterior(NamedTuple):
    """Attributes:
    weights: (S, D), draws of all chains, evenly thinned.
    r_hat, effective_draws: (), the largest and the smallest over all outputs at training inputs.
    divergences: (), trajectories.
    cut_short: (), fraction of trajectories.
    """

    weights: Tensor
    r_hat: Tensor
    effective_draws: Tensor
    divergences: Tensor
    cut_short: Tensor


class HMC(Method):
    """Hamiltonian Monte Carlo. Hyper-parameters: `prior_precision` (alpha) and the likelihood's.

    Args:
        chains: independent ones.
        max_tree_depth: trajectories have up to 2^max_tree_depth - 1 leapfrog steps.
    """

    name = "hmc"
    title = "HMC (NUTS)"
    paper = Paper("Hoffman and Gelman 2014", "The No-U-Turn Sampler")
    sweeps = True
    stackable = False
    gaussian = True
    suites = ("toy",)
    limits = f"multilayer perceptrons of up to {MAX_WEIGHTS:,} weights"

    def __init__(self, chains: int = CHAINS, max_tree_depth: int = nuts.MAX_TREE_DEPTH):
        self.chains = chains
        self.max_tree_depth = max_tree_depth

    def proxy(self) -> "HMC":
        return HMC(1, REHEARSED_DEPTH)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"prior_precision": LogUniform(0.01, 10), **task.likelihood.search_space()}

    def excludes(self, task: Task) -> str | None:
        if not nuts.is_installed():
            return str(nuts.MissingExtra())
        network = self.network(task)
        if not isinstance(network, MLP):
            return f"chains of a {type(network).__name__} would take too long"
        if network.dim > MAX_WEIGHTS:
            return f"chains of {network.dim} weights would take too long; {MAX_WEIGHTS} are the most"
        return super().excludes(task)

    def init(self, problem: Problem, noise) -> State:
        seed = noise.normal(2)
        none = seed.new_empty(0)
        return State(seed, torch.zeros_like(seed[0]), seed.new_empty(0, problem.network.n_inputs), none, none)

    def update(self, problem: Problem, state: State, batch, noise, step) -> State:
        return state._replace(updates=step.count)

    def sweep(self, problem: Problem, state: State, rows: Sweep) -> State:
        parts = zip((state.x, state.y, state.present), rows, strict=True)
        return State(state.seed, state.updates, *(torch.cat(pair) for pair in parts))

    def finish(self, problem: Problem, state: State) -> Posterior:
        present = state.present.bool()
        x, y = state.x[present], state.y[present]
        half = min(max(int(state.updates), LEAST_TRANSITIONS), TRANSITIONS) // 2
        noise_precision = getattr(problem.hparams, "noise_precision", None)
        draws = nuts.sample(
            problem.network,
            problem.likelihood,
            x.cpu().numpy(),
            y.cpu().numpy(),
            float(problem.hparams.prior_precision),
            None if noise_precision is None else float(noise_precision),
            float(problem.y_scale),
            chains=self.chains,
            max_tree_depth=self.max_tree_depth,
            warmup=half,
            draws=half,
            seed=int.from_bytes(state.seed.cpu().numpy().tobytes()),
        )
        outputs = _outputs(problem, draws.weights, x)
        flat = x.new_tensor(draws.weights).flatten(0, 1)
        found = nuts.r_hat(outputs).max(), nuts.effective_sample_size(outputs).min(), draws.divergences, draws.saturated
        return Posterior(_thinned(flat, KEPT), *(x.new_tensor(float(one)) for one in found))

    def diagnostics(self, problem: Problem, posterior: Posterior) -> dict[str, Tensor]:
        return {name: value for name, value in posterior._asdict().items() if name != "weights"}

    def sample(self, problem: Problem, posterior: Posterior, noise, n_samples: int) -> Tensor:
        return _thinned(posterior.weights, n_samples)


def _outputs(problem: Problem, weights: np.ndarray, x: Tensor) -> np.ndarray:
    """Outputs (chains, draws, N, O) at x (N, P) for weights (chains, draws, D)."""
    weights = torch.as_tensor(weights, device=x.device)
    outputs = vmap(problem.network, (0, None), chunk_size=OUTPUTS_AT_ONCE)(weights.flatten(0, 1), x.to(weights))
    return outputs.unflatten(0, weights.shape[:2]).cpu().numpy()


def _thinned(weights: Tensor, count: int) -> Tensor:
    """`count` of the draws (S, D), evenly spread; all where there are fewer."""
    if count >= len(weights):
        return weights
    return weights[torch.arange(count, device=weights.device) * len(weights) // count]
