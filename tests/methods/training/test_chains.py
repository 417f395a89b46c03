"""Chains that minibatches move: lengths, places of draws, the gradient, and posteriors that are known exactly."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import strong_prior
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.csgmcmc import CyclicalSGMCMC
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet
from lockstep_bench.methods.problem import Task
from lockstep_bench.methods.sghmc import SGHMC
from lockstep_bench.methods.sgld import PSGLD, SGLD
from lockstep_bench.methods.training.chains import (
    DRAWS_OF_LARGE_NETWORKS,
    chain_updates,
    ends_a_part,
    gradient_and_objective,
)


@pytest.mark.parametrize(
    ("plan", "passes", "least", "updates"),
    [
        (Plan(200, 1.0), 3801, 0, 3801),
        (Plan(100, 1.0), 3801, 0, 3801),
        (Plan(50, 1.0), 3801, 0, 1900),
        (Plan(50 * 20, 20.0), 300, 0, 3000),  # half of 300 passes of 20 minibatches
        (Plan(50 * 20, 20.0), 300, 10_000, 5000),
        (Plan(3, 1.0), 100, 0, 24),
    ],
)
def test_shorter_training_shortens_chains_proportionally(plan, passes, least, updates):
    assert chain_updates(plan, passes, least) == updates


@pytest.mark.parametrize(("parts", "length", "ends"), [(4, 8, [2, 4, 6, 8]), (3, 7, [3, 5, 7]), (9, 3, [1, 2, 3])])
def test_parts_of_a_chain_end_evenly_spaced(parts, length, ends):
    assert [n for n in range(1, length + 1) if ends_a_part((n - 1) / length, n / length, parts)] == ends


def test_chain_gradient_is_scaled_log_posterior_gradient(problem, batches, gradient_of, log_posterior):
    batch, weights = batches(1), torch.linspace(-1, 1, problem.dim, dtype=torch.float64)
    gradient, _ = gradient_and_objective(problem, weights, batch)
    per_row = problem.n_train * problem.hparams.noise_precision * problem.y_scale**2
    torch.testing.assert_close(gradient, -gradient_of(weights, batch) / per_row)
    objectives = [gradient_and_objective(problem, factor * weights, batch)[1] for factor in (1, 2)]
    densities = [log_posterior(factor * weights, batch) for factor in (1, 2)]  # the constant cancels in the difference
    torch.testing.assert_close(objectives[0] - objectives[1], densities[1] - densities[0])


@pytest.mark.parametrize(
    ("method", "lr"),
    [
        (SGLD(last_step=1.0), 0.05),
        (SGLD(), 0.2),
        (SGHMC(), 0.02),
        (CyclicalSGMCMC(cycles=8, exploration=0.0), 0.01),
        (CyclicalSGMCMC(cycles=8, exploration=0.0, friction=1.0), 0.1),
    ],
    ids=["SGLD of a constant step", "SGLD", "SGHMC", "cSGHMC that only samples", "cSGLD that only samples"],
)
def test_sgmcmc_samples_the_exact_linear_posterior(method, lr):
    problem = strong_prior(1)
    exact = problem.posterior()
    fits = problem.fit(method.changed(passes=15_000), 6000, 15, seeds=range(4), lr=lr)
    samples = problem.weight_samples(fits, 400).reshape(-1, 3)
    sds = np.sqrt(np.diag(exact.covariance))
    assert np.abs((samples.mean(0) - exact.mean) / sds).max() < 0.1
    np.testing.assert_allclose(np.cov(samples.T) / np.outer(sds, sds), exact.covariance / np.outer(sds, sds), atol=0.15)


@pytest.mark.parametrize(("memory", "tolerance"), [(0.99, 0.3), (0.9999, 0.13)])
def test_preconditioned_sgld_bias_falls_with_longer_memory(memory, tolerance):
    """The preconditioner depends on the weights, and its derivative is left out."""
    problem = strong_prior(1)
    exact = problem.posterior()
    fits = problem.fit(PSGLD(passes=15_000, memory=memory), 6000, 30, seeds=range(4), lr=0.003)
    samples = problem.weight_samples(fits, 400).reshape(-1, 3)
    sds = np.sqrt(np.diag(exact.covariance))
    assert np.abs((samples.mean(0) - exact.mean) / sds).max() < 0.2
    np.testing.assert_allclose(samples.std(0) / sds, 1, atol=tolerance)


def test_tuning_uses_one_chain_of_full_length():
    method, plan = SGHMC(), Plan(2000, 10.0)
    assert (method.proxy().members, method.members) == (1, 4)
    assert method.proxy().updates(plan) == method.updates(plan)


def test_image_networks_are_sampled_for_the_protocols_epochs():
    method, plan = CyclicalSGMCMC(), Plan(700, 10.0)
    images = Task("images", Categorical(10), PreActResNet((2, 4, 4), 10, widths=(3, 4), blocks=1))
    assert method.suited_to(images).updates(plan) == 700
    assert method.suited_to(images).draws == DRAWS_OF_LARGE_NETWORKS
    assert method.suited_to(Task("table", Gaussian((0.1, 1.0)), MLP(3, (4,)))) is method
