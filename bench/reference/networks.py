"""Draws of the posterior of a network's function, by two samplers that share no code, and how they agree.

The reference is HMC (`methods.leapfrog`): 64 chains side by side. NUTS of NumPyro checks it, with few chains in double
precision. Weights are not kept. Chains are compared by the outputs of the network at fixed inputs, because permuting
units changes the weights but not the function.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from torch.func import vmap

from lockstep_bench import methods
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.reference.problem import Part, model_of, network_part
from lockstep_bench.datasets import Dataset, Source
from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian
from lockstep_bench.methods.mcmc import nuts
from lockstep_bench.methods.mcmc.diagnostics import effective_sample_size, r_hat
from lockstep_bench.methods.problem import Task

CHAINS = 64
HMC = f"hmc-leapfrog(chains={CHAINS},warmup=100,draws=150,steps=96)"
RATE = 3e-3  # of Adam, before the chains
NUTS = {"chains": 4, "warmup": 150, "draws": 150}
AT_ONCE = 500  # draws whose outputs are computed side by side
MAX_R_HAT = 1.01  # Vehtari et al. 2021
LEVEL = 0.05  # of the test that the two samplers have the same moments, over all of them together

OnProgress = Callable[[float], None]


def part_of(source: Source, dataset: Dataset, rows: np.ndarray) -> Part:
    """Return rows of a regression with its network; a model without a noise precision predicts the noise."""
    model = model_of(source)
    if model.noise_precision is not None:
        return network_part(source, dataset, rows)
    part = network_part(replace(source, model=model._replace(noise_precision=1.0)), dataset, rows)
    network = replace(part.network, n_outputs=2)
    return part._replace(network=network, likelihood=HeteroscedasticGaussian(), noise_precision=None)


def drawn_by_hmc(
    part: Part, inputs: np.ndarray, seed: int, sampler: str = HMC, on_progress: OnProgress = lambda share: None
) -> np.ndarray:
    """Return the network's outputs at draws of many chains, (chains, draws, n, O), in units of standardised targets.

    Args:
        part: Training rows and model.
        inputs: (n, P), standardised inputs.
        seed: Seed of the chains.
        sampler: A method whose posterior has the draws of its chains, with its options.
        on_progress: Called with the fraction of the updates that are done.
    """
    method = methods.get(sampler)
    hparams = {"lr": RATE, "prior_precision": part.prior_precision}
    if part.noise_precision is not None:  # of the standardised targets, which `part.y` has
        hparams["noise_precision"] = part.noise_precision * part.y_scale**2
    schedule = Schedule.of(method, len(part.y), len(part.y), epochs=100)
    n_updates = schedule.plan.n_updates
    trained = train_stacked(
        method,
        Task("reference", part.likelihood, part.network),
        Data.of(part.x, part.y),
        [Fit(np.arange(len(part.y)), hparams, seed)],
        schedule,
        standardise=False,
        on_update=lambda update: on_progress(update / n_updates),
    )
    return outputs_at(part, trained.posterior.draws.double().numpy(), inputs)


def drawn_by_nuts(
    part: Part, inputs: np.ndarray, seed: int, on_progress: OnProgress = lambda share: None, **settings: int
) -> np.ndarray:
    """Return the network's outputs at draws of NUTS, as `drawn_by_hmc` does; `settings` replace those in `NUTS`."""
    lengths: dict[str, Any] = {**NUTS, **settings}
    chains = nuts.sample(
        part.network,
        part.likelihood,
        part.x,
        part.y,
        part.prior_precision,
        part.noise_precision,
        part.y_scale,
        seed=seed,
        progress=on_progress,
        **lengths,
    )
    return outputs_at(part, chains.weights, inputs)


def outputs_at(part: Part, weights: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return the outputs (chains, draws, n, O) of a network with weights (chains, draws, D) at inputs (n, P)."""
    flat, x = torch.tensor(weights.reshape(-1, part.network.dim)), torch.tensor(inputs, dtype=torch.float64)
    outputs = vmap(part.network, in_dims=(0, None), chunk_size=AT_ONCE)(flat, x)
    return outputs.numpy().reshape(*weights.shape[:2], *outputs.shape[1:])


class Agreement(NamedTuple):
    """How two samplers agree on the outputs of a network at fixed inputs.

    Attributes:
        r_hat: Largest R-hat of the first sampler's outputs.
        effective: Smallest effective sample size of the first sampler's outputs.
        other_r_hat: Largest R-hat of the second sampler's outputs.
        other_effective: Smallest effective sample size of the second sampler's outputs.
        z_mean: Largest difference of the means of an output, in Monte-Carlo standard errors.
        z_sd: Largest difference of the standard deviations of an output, in Monte-Carlo standard errors.
        bound: Differences that one in twenty pairs of exact samplers would exceed (Bonferroni).
        mean_difference: Largest difference of the means, in standard deviations of the output.
        sd_difference: Largest difference of the standard deviations, relative to the first.
    """

    r_hat: float
    effective: float
    other_r_hat: float
    other_effective: float
    z_mean: float
    z_sd: float
    bound: float
    mean_difference: float
    sd_difference: float

    @property
    def verdict(self) -> str:
        """Either "agree" or "unresolved": the posterior is multimodal in function space, or the chains are too short.

        Samplers agree if no moment differs by more than `bound`, and the R-hat of the first is below 1.01.
        """
        differs = max(self.z_mean, self.z_sd) > self.bound
        return "unresolved" if differs or self.r_hat >= MAX_R_HAT else "agree"


def agreement(values: np.ndarray, others: np.ndarray) -> Agreement:
    """Return how two samplers agree, given outputs (chains, draws, n, O) of each at the same n inputs.

    Monte-Carlo errors are ArviZ's, from the effective sample sizes of the mean and of the standard deviation.
    """
    both = [part.reshape(*part.shape[:2], -1) for part in (values, others)]
    means, sds = ([function(part, axis=(0, 1)) for part in both] for function in (np.mean, np.std))
    z_mean, z_sd = (
        np.abs(first - second) / np.hypot(*(_error(part, method) for part in both))
        for method, (first, second) in {"mean": means, "sd": sds}.items()
    )
    return Agreement(
        r_hat=float(r_hat(both[0]).max()),
        effective=float(effective_sample_size(both[0]).min()),
        other_r_hat=float(r_hat(both[1]).max()),
        other_effective=float(effective_sample_size(both[1]).min()),
        z_mean=float(z_mean.max()),
        z_sd=float(z_sd.max()),
        bound=float(norm.isf(LEVEL / 2 / (2 * both[0].shape[2]))),
        mean_difference=float((np.abs(means[0] - means[1]) / sds[0]).max()),
        sd_difference=float(np.abs(sds[1] / sds[0] - 1).max()),
    )


def _error(values: np.ndarray, method: str) -> np.ndarray:
    """Return the Monte-Carlo standard error of the "mean" or the "sd" of each output, (m,), from (chains, draws, m)."""
    from arviz_stats.base.array import array_stats

    arviz: Any = array_stats
    return np.asarray(arviz.mcse(values, chain_axis=0, draw_axis=1, method=method))
