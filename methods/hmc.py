"""Hamiltonian Monte Carlo: samples of the exact posterior by NUTS.

Converged chains give the exact predictive, which all methods with the same prior, likelihood and network approximate.
`methods.mcmc.nuts` describes the density and the sampler. Each final fit records, for the network's outputs at the
training inputs, the largest R-hat and the smallest effective sample size, and the number of divergent trajectories. An
R-hat above about 1.05 means that the chains disagree and must not serve as a reference.

The sampler uses all training rows at once, without minibatches. Each update of the protocol counts as one transition of
every chain, up to `TRANSITIONS`; the first half of the transitions is warm-up. Tuning runs one chain with shorter
trajectories.

Costs on one busy core of a 2.7 GHz Xeon: a fit of 300 updates on yacht took 141 s with noise precision and prior
precision 1. All trajectories had 1023 steps, and R-hat was 1.05. With 255 steps it took 37 s, R-hat was 1.48 and the
test RMSE three times as large. Time grows with the training rows: a step takes 68 us on yacht, 196 us on boston, 374 us
on wine and 2.9 ms on naval, where a fit would take an hour.
"""

from typing import NamedTuple, cast

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap

from lockstep_bench.methods.api import MLP, Batch, LogUniform, Method, Noise, Problem, Step, Sweep, Task
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.mcmc import nuts
from lockstep_bench.methods.mcmc.draws import thinned

CHAINS = 4
PROXY_DEPTH = 8  # tree depth of the single chain of tuning
TRANSITIONS = 400  # most transitions per chain; half are warm-up
LEAST_TRANSITIONS = 8  # R-hat needs a few draws
MAX_WEIGHTS = 1000
KEPT = 500  # draws of a posterior, from all chains together
OUTPUTS_AT_ONCE = 50  # draws whose outputs are computed side by side


class HMCState(NamedTuple):
    """The training rows and the length of the chains, until `finish` runs them.

    Attributes:
        seed: (2,), numbers whose bits seed the chains.
        updates: (), the number of updates so far.
        x: (N, P), training inputs collected by `sweep`.
        y: (N,), targets of these rows.
        present: (N,), 1 for a training row and 0 for padding.
    """

    seed: Tensor
    updates: Tensor
    x: Tensor
    y: Tensor
    present: Tensor


class HMCPosterior(NamedTuple):
    """Draws of the posterior and diagnostics of the chains.

    Attributes:
        weights: (S, D), draws of all chains, evenly thinned.
        r_hat: (), the largest R-hat over all network outputs at the training inputs.
        effective_draws: (), the smallest effective sample size over the same outputs.
        divergences: (), the number of divergent trajectories.
        cut_short: (), the fraction of trajectories that reached the maximal tree depth.
    """

    weights: Tensor
    r_hat: Tensor
    effective_draws: Tensor
    divergences: Tensor
    cut_short: Tensor


@catalogued("hmc")
class HMC(Method):
    """Hamiltonian Monte Carlo. Hyper-parameters: `prior_precision` (alpha) and the likelihood's.

    Args:
        chains: number of independent chains.
        max_tree_depth: trajectories have at most 2^max_tree_depth - 1 leapfrog steps.
    """

    sweeps = True
    stackable = False

    def __init__(self, chains: int = CHAINS, max_tree_depth: int = nuts.MAX_TREE_DEPTH):
        self.n_chains = chains
        self.max_tree_depth = max_tree_depth

    def proxy(self) -> "HMC":
        return HMC(1, PROXY_DEPTH)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"prior_precision": LogUniform(0.01, 10), **task.likelihood.search_space()}

    def excludes(self, task: Task) -> str | None:
        if not nuts.is_installed():
            return str(nuts.MissingExtra())
        network = self.network(task)
        if not isinstance(network, MLP):
            return f"chains of a {type(network).__name__} would take too long"
        if network.dim > MAX_WEIGHTS:
            return f"chains of {network.dim} weights would take too long; {MAX_WEIGHTS} are allowed"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> HMCState:
        seed = noise.normal(2)
        no_rows = seed.new_empty(0)
        return HMCState(seed, torch.zeros_like(seed[0]), seed.new_empty(0, _mlp(problem).n_inputs), no_rows, no_rows)

    def update(self, problem: Problem, state: HMCState, batch: Batch, noise: Noise, step: Step) -> HMCState:
        return state._replace(updates=step.count)

    def sweep(self, problem: Problem, state: HMCState, rows: Sweep) -> HMCState:
        parts = zip((state.x, state.y, state.present), rows, strict=True)
        return HMCState(state.seed, state.updates, *(torch.cat(pair) for pair in parts))

    def finish(self, problem: Problem, state: HMCState) -> HMCPosterior:
        present = state.present.bool()
        x, y = state.x[present], state.y[present]
        half = min(max(int(state.updates), LEAST_TRANSITIONS), TRANSITIONS) // 2
        noise_precision = getattr(problem.hparams, "noise_precision", None)
        draws = nuts.sample(
            network=_mlp(problem),
            likelihood=problem.likelihood,
            x=x.cpu().numpy(),
            y=y.cpu().numpy(),
            prior_precision=float(problem.hparams.prior_precision),
            noise_precision=None if noise_precision is None else float(noise_precision),
            y_scale=float(problem.y_scale),
            chains=self.n_chains,
            max_tree_depth=self.max_tree_depth,
            warmup=half,
            draws=half,
            seed=int.from_bytes(state.seed.cpu().numpy().tobytes()),
            noise_df=float(getattr(problem.hparams, "noise_df", 1.0)),
        )
        outputs = _outputs(problem, draws.weights, x)
        return HMCPosterior(
            weights=thinned(x.new_tensor(draws.weights).flatten(0, 1), KEPT),
            r_hat=x.new_tensor(float(nuts.r_hat(outputs).max())),
            effective_draws=x.new_tensor(float(nuts.effective_sample_size(outputs).min())),
            divergences=x.new_tensor(float(draws.divergences)),
            cut_short=x.new_tensor(float(draws.saturated)),
        )

    def diagnostics(self, problem: Problem, posterior: HMCPosterior) -> dict[str, Tensor]:
        return {name: value for name, value in posterior._asdict().items() if name != "weights"}

    def sample(self, problem: Problem, posterior: HMCPosterior, noise: Noise, n_samples: int) -> Tensor:
        return thinned(posterior.weights, n_samples)


def _mlp(problem: Problem) -> MLP:
    """Return the problem's network; `excludes` admits no other kind."""
    return cast(MLP, problem.network)


def _outputs(problem: Problem, weights: np.ndarray, x: Tensor) -> np.ndarray:
    """Return the outputs (chains, draws, N, O) at x (N, P) for weights (chains, draws, D)."""
    draws = torch.as_tensor(weights, device=x.device)
    outputs = vmap(problem.network, (0, None), chunk_size=OUTPUTS_AT_ONCE)(draws.flatten(0, 1), x.to(draws))
    return torch.unflatten(outputs, 0, draws.shape[:2]).cpu().numpy()
