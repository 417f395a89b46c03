"""The epinet against autograd of the documented objective and the closed form of a linear-Gaussian model."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.distributions import Normal
from torch.func import grad

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.epinet import Epinet, EpinetPosterior, EpinetState, perturbations
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD

ONE = torch.tensor(1.0, dtype=torch.float64)
SCALE = 0.4


@pytest.fixture
def method(hparams):
    hparams.prior_scale = SCALE * ONE
    return Epinet(index_dim=3)


def noise_of(seed: int = 0) -> LiveNoise:
    return LiveNoise(torch.Generator().manual_seed(seed), torch.float64)


def layers(weights, *widths):
    """Apply a ReLU network with the given widths, whose flat weights are kernel and bias of each layer."""

    def apply(x):
        rest = weights
        for number, (fan_in, fan_out) in enumerate(pairwise(widths)):
            kernel, bias, rest = rest.split([fan_in * fan_out, fan_out, len(rest) - (fan_in + 1) * fan_out])
            x = x @ kernel.reshape(fan_in, fan_out) + bias
            x = torch.relu(x) if number < len(widths) - 2 else x
        return x

    return apply


def written(params, prior, frozen, x, index):
    """f(x, z) (M,) of 3 inputs, 4 hidden units and 3 numbers of the index; `frozen` are the weights behind phi."""
    weights, learnt = params[:21], params[21:]
    phi = torch.relu(layers(frozen[:16], 3, 4)(x))
    matrix = layers(learnt, 4 + 3 + 3, 15, 15, 3)(torch.cat([phi, x, index.expand(len(x), 3)], 1))
    fixed = torch.cat([layers(each, 3, 5, 5, 1)(x) for each in prior], 1)
    return layers(weights, 3, 4, 1)(x)[:, 0] + (matrix + SCALE * fixed) @ index


def test_update_follows_the_gradient_of_the_documented_objective(problem, hparams, batches, method):
    batch, state = batches(1), method.init(problem, noise_of())
    z = noise_of(1).normal(8, 3)
    leaf, sd = state.params.clone().requires_grad_(), (hparams.noise_precision * 9) ** -0.5
    (x,), (y,) = batch[:2]
    angles = torch.cat([x, y[:, None]], 1) @ state.fixed.frequencies.T + state.fixed.phases
    c = math.sqrt(2 / 3) * torch.cos(angles)
    nll = 0
    for index in z:
        fit = written(leaf, state.fixed.prior, state.params, x, index)
        nll -= Normal(fit, sd).log_prob(y + sd * c @ index).mean() / 8
    objective = problem.n_train * nll + 0.5 * hparams.prior_precision * leaf.square().sum()
    (gradient,) = torch.autograd.grad(objective, leaf)
    before = EpinetState(state.params, state.fixed, SGD())
    after, reported = method.update(problem, before, batch, noise_of(1), Step(ONE, None))
    torch.testing.assert_close(after.params, state.params - hparams.lr * gradient)
    torch.testing.assert_close(reported["objective"], objective.detach())
    assert after.fixed is state.fixed


def test_predictions_at_all_inputs_share_the_epistemic_index(problem, batches, method):
    x, state = batches(1).x[0], method.init(problem, noise_of())
    posterior = method.finish(problem, state)
    z = noise_of(1).normal(7, 3)
    found = method.predict(problem, posterior, x, noise_of(1), 7).mean
    expected = torch.stack([2 + 3 * written(state.params, state.fixed.prior, state.params, x, index) for index in z])
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(method.predict(problem, posterior, x[3:], noise_of(1), 7).mean, found[:, 3:])


def linear_problem(known, scale: float) -> tuple[Problem, Batch]:
    hparams = HParams(
        prior_precision=known.alpha * ONE, noise_precision=known.beta * ONE, prior_scale=scale * ONE, lr=ONE
    )
    network = MLP(known.x.shape[1], (), bias=False)
    problem = Problem(network, Gaussian((0.1, 1.0)), hparams, len(known.x) * ONE, 0 * ONE, ONE)
    return problem, Batch(torch.tensor(known.x)[None], torch.tensor(known.y)[None])


def closed_form(known, prior, c, scale: float):
    """m (D,) and B (D, K) of the docstring, for prior (K, D) and c (N, K)."""
    exact, x = known.posterior(), torch.tensor(known.x)
    spread = known.alpha * scale * prior.T + math.sqrt(known.beta) * x.T @ c
    return torch.tensor(exact.mean), torch.tensor(exact.covariance) @ spread


def test_linear_objective_is_minimal_at_the_perturbed_posterior():
    known, method = correlated(0, n_rows=20, alpha=0.7, beta=2.0), Epinet(index_dim=4)
    problem, batch = linear_problem(known, scale=0.3)
    fixed = method.init(problem, noise_of()).fixed
    c = perturbations(fixed, batch.x[0], batch.y[0])
    mean, spread = closed_form(known, fixed.prior, c, scale=0.3)
    params = torch.cat([mean, (spread - 0.3 * fixed.prior.T).flatten()])
    axes = 2 * torch.eye(4, dtype=torch.float64)  # these 8 points have the mean and covariance of N(0, I)
    z = torch.cat([axes, -axes])
    gradient = grad(lambda params: method.objective(problem, params, fixed, batch, z))(params)
    torch.testing.assert_close(gradient, torch.zeros_like(params), rtol=0, atol=1e-9)
    draws = method.predict(problem, EpinetPosterior(params, fixed.prior), torch.eye(2).double(), noise_of(1), 5).mean
    torch.testing.assert_close(draws, mean + noise_of(1).normal(5, 4) @ spread.T)


def test_perturbed_solutions_have_the_exact_posterior_covariance():
    known, n_indices = correlated(0, n_rows=20, alpha=0.7, beta=2.0), 20_000
    problem, batch = linear_problem(known, scale=1.0)
    fixed = Epinet(n_indices).init(problem, noise_of()).fixed
    prior = noise_of(2).normal(n_indices, 2) / math.sqrt(known.alpha * n_indices)
    c = perturbations(fixed, batch.x[0], batch.y[0])
    _, spread = closed_form(known, prior, c, scale=1.0)
    exact = known.posterior().covariance
    np.testing.assert_allclose(spread @ spread.T, exact, atol=5 * exact.max() * math.sqrt(2 / n_indices))


def test_classification_targets_are_not_perturbed(hparams, batches, method):
    problem = Problem(MLP(3, (4,), 3), Categorical(3), hparams, 12 * ONE, 0 * ONE, ONE)
    batch = batches(1)
    batch = batch._replace(y=torch.tensor([[0.0, 1, 2, 0, 1]]).double())
    state, z = method.init(problem, noise_of()), noise_of(1).normal(2, 3)
    outputs = method.outputs(problem, state.params, state.fixed.prior, batch.x[0], z)
    nll = torch.nn.functional.cross_entropy(outputs.flatten(0, 1), batch.y[0].long().repeat(2))
    expected = 12 * nll + 0.35 * state.params.square().sum()
    torch.testing.assert_close(method.objective(problem, state.params, state.fixed, batch, z), expected)


def test_epinet_excludes_image_networks():
    assert "multilayer perceptron" in Epinet().excludes(Task("any", Categorical(10), preresnet_20()))
