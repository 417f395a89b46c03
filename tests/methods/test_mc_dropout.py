"""MC dropout against enumeration of all masks, autograd of the documented objective, MAP, and dropout's ridge."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch.special import ndtr

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.map import MAP, MAPState
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.mc_dropout import MCDropout, MCDropoutState, expected_square
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.layers import Matrix
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet
from lockstep_bench.methods.problem import HParams, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD

FIRST = Step(torch.tensor(1.0), None)
ONE = torch.tensor(1.0, dtype=torch.float64)
HALF = HParams(dropout_rate=0.5 * ONE)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_rate(problem: Problem, rate: float) -> Problem:
    return replace(problem, hparams=HParams(**vars(problem.hparams), dropout_rate=rate * ONE))


def masked_network(weights, x, masks, rate):
    """A 3-4-1 ReLU network at one x (3,), its inputs and hidden units masked."""
    first, first_bias, last, last_bias = weights.split([12, 4, 4, 1])
    hidden = torch.relu((x * masks[:3] / (1 - rate)) @ first.reshape(3, 4) + first_bias)
    return (hidden * masks[3:] / (1 - rate)) @ last + last_bias[0]


@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_update_uses_a_separate_mask_per_example(problem, hparams, batches, rate):
    batch, weights = batches(1), (0.5 * numbers(problem.dim, seed=3)).requires_grad_()
    tape = numbers(5 * 7, seed=4)
    zeros = ndtr(tape) > 1 - rate
    assert zeros.any()
    masks = 1 - torch.cat([zeros[:15].reshape(5, 3), zeros[15:].reshape(5, 4)], dim=1).double()
    outputs = torch.stack([masked_network(weights, *one, rate) for one in zip(batch.x[0], masks, strict=True)])
    nll = -torch.distributions.Normal(outputs, 1 / (hparams.noise_precision**0.5 * 3)).log_prob(batch.y[0])
    matrices, biases = torch.cat([weights[:12], weights[16:20]]), torch.cat([weights[12:16], weights[20:]])
    penalty = (matrices**2).sum() / (1 - rate) + (biases**2).sum()
    (gradient,) = torch.autograd.grad(12 * nll.mean() + 0.5 * hparams.prior_precision * penalty, weights)
    state = MCDropoutState(weights.detach(), SGD())
    after, _ = MCDropout().update(with_rate(problem, rate), state, batch, Noise(tape), FIRST)
    torch.testing.assert_close(after.weights, (weights - hparams.lr * gradient).detach())


def test_samples_follow_the_enumerated_mask_probabilities(problem, hparams):
    rate, n_samples = 0.3, 40000
    weights, x = numbers(problem.dim, seed=3), numbers(2, 3, seed=1)
    masks = torch.tensor(list(product((0.0, 1.0), repeat=7)), dtype=torch.float64)
    probabilities = (1 - rate) ** masks.sum(1) * rate ** (7 - masks.sum(1))
    every = torch.stack([torch.stack([masked_network(weights, point, mask, rate) for point in x]) for mask in masks])
    every = 2 + 3 * every  # (128, 2), in original units
    noise = Noise(numbers(n_samples * 7))
    predictive = MCDropout().predict(with_rate(problem, rate), weights, x, noise, n_samples)
    distances = torch.cdist(predictive.mean, every, p=float("inf"))
    assert distances.min(1).values.max() < 1e-12
    torch.testing.assert_close(predictive.variance, (1 / hparams.noise_precision).expand(n_samples, 2))
    mean = probabilities @ every
    variance = probabilities @ (every - mean) ** 2
    assert ((predictive.mean.mean(0) - mean).abs() < 4 * (variance / n_samples).sqrt()).all()
    torch.testing.assert_close(predictive.mean.var(0), variance, rtol=0.05, atol=0)


def test_dropout_rate_zero_equals_map(problem, batches):
    batch, weights = batches(1), numbers(problem.dim, seed=3)
    method, without = MCDropout(), with_rate(problem, 0.0)
    found = method.update(without, MCDropoutState(weights, SGD()), batch, Noise(numbers(35)), FIRST)[0].weights
    expected = MAP().update(problem, MAPState(weights, SGD()), batch, Noise(numbers(0)), FIRST)[0].weights
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    x = numbers(2, 3, seed=1)
    predictive = method.predict(without, weights, x, Noise(numbers(70)), 10)
    torch.testing.assert_close(predictive.mean, problem.predictive(weights.expand(10, -1), x).mean)


def test_penalty_is_expected_squared_sampled_weights(problem):
    rate, weights = 0.3, numbers(problem.dim, seed=3)
    first, first_bias, last, last_bias = weights.split([12, 4, 4, 1])
    masks = torch.tensor(list(product((0.0, 1.0), repeat=7)), dtype=torch.float64)
    squares = [
        ((mask[:3, None] * first.reshape(3, 4) / (1 - rate)) ** 2).sum() + ((mask[3:] * last / (1 - rate)) ** 2).sum()
        for mask in masks
    ]
    probabilities = (1 - rate) ** masks.sum(1) * rate ** (7 - masks.sum(1))
    expected = probabilities @ torch.stack(squares) + (first_bias**2).sum() + (last_bias**2).sum()
    torch.testing.assert_close(expected_square(problem, weights, rate), expected)


def test_linear_dropout_gives_its_closed_form_ridge_solution():
    # Dropping inputs adds r / (1 - r) beta sum_n x_nj^2 to weight j's own precision (Wager et al. 2013).
    problem, rate = correlated(seed=1, n_rows=100, alpha=1.0, beta=1.0), 0.2
    own = problem.alpha / (1 - rate) + rate / (1 - rate) * problem.beta * (problem.x**2).sum(0)
    precision = np.diag(own) + problem.beta * problem.x.T @ problem.x
    expected = np.linalg.solve(precision, problem.beta * problem.x.T @ problem.y)
    stack = problem.fit(MCDropout(), lr=0.003, updates=2000, batch_size=100, seeds=range(8), dropout_rate=rate)
    found = stack.posterior.mean(0).numpy()
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())
    ridge = np.linalg.solve(
        problem.alpha * np.eye(2) + problem.beta * problem.x.T @ problem.x, problem.beta * problem.x.T @ problem.y
    )
    assert np.abs(ridge - expected).max() > 0.1 * np.abs(expected).max()  # so that the bound above can tell


def test_dropout_masks_differ_by_sample_not_by_image():
    problem = Problem(ConvNet((1, 4, 4), (2,), n_outputs=3), Categorical(3), HALF, 12 * ONE, 0 * ONE, ONE)
    weights, x = numbers(problem.dim, seed=3), numbers(1, 16, seed=1).expand(4, -1)
    length = 6 * (16 + 8)
    found = MCDropout().predict(problem, weights, x, Noise(numbers(length)), 6).log_probs
    torch.testing.assert_close(found, found[:, :1].expand_as(found))
    assert len(torch.unique(found[:, 0, 0])) == 6


RESIDUAL = PreActResNet((2, 4, 4), 3, widths=(3, 4), blocks=1)


def residual_problem(norm: str) -> Problem:
    return Problem(replace(RESIDUAL, norm=norm), Categorical(3), HALF, 12 * ONE, 0 * ONE, ONE)


@pytest.mark.parametrize("norm", ["batch", "filter-response"])
def test_only_inputs_of_linear_and_convolutional_layers_are_dropped(norm):
    problem = residual_problem(norm)
    weights, gauge = problem.initial_weights(NoiseGauge(torch.float64)), NoiseGauge(torch.float64)
    MCDropout().predict(problem, weights, numbers(5, 32), gauge, 1)
    # The stem, two convolutions of 3 channels at 4 x 4, one to 4 at 2 x 2, one there and the shortcut, and the head.
    assert gauge.used == 2 * 16 + 2 * 3 * 16 + 3 * 16 + 4 * 4 + 3 * 16 + 4
    squares = [(layer, [(piece**2).sum() for piece in pieces]) for layer, pieces in pairs_of(problem, weights)]
    expected = sum(first / (0.5 if isinstance(layer, Matrix) else 1) + sum(rest) for layer, (first, *rest) in squares)
    torch.testing.assert_close(expected_square(problem, weights, torch.tensor(0.5)), expected)


def pairs_of(problem, weights):
    return zip(problem.network.layers, problem.network.split(weights), strict=True)


def test_samples_have_separate_batch_norm_statistics():
    problem = residual_problem("batch")
    gauge = NoiseGauge(torch.float64)
    weights, x = problem.initial_weights(gauge), numbers(5, 32)
    gauge = NoiseGauge(torch.float64)
    MCDropout().predict(problem, weights, x, gauge, 1)
    tape = numbers(4 * gauge.used, seed=2)
    together = MCDropout().predict(problem, weights, x, Noise(tape), 4).log_probs
    alone = [MCDropout().predict(problem, weights, x, Noise(one), 1).log_probs for one in tape.chunk(4)]
    torch.testing.assert_close(together, torch.cat(alone))
    assert (together[0] - together[1]).abs().min() > 0


def test_wide_search_space_includes_dropout_rate_one_half():
    task = Task("any", Gaussian((0.01, 1.0)), MLP(5))
    assert MCDropout().search_space(task)["dropout_rate"].choices == (0.005, 0.01, 0.05, 0.1)
    assert MCDropout().wide_space(task)["dropout_rate"].high == 0.5
