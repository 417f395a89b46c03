"""Mixture-density networks against SciPy's mixture, autograd of the documented objective, and a bimodal density."""

import math

import numpy as np
import pytest
import torch
from scipy import special, stats
from torch.distributions import Categorical, MixtureSameFamily, Normal

from lockstep_bench import methods
from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.beta_nll import BetaNLL
from lockstep_bench.methods.maths.likelihoods import MAX_LOG_VARIANCE, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.mdn import Mixture, MixtureDensityNetwork
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.training.optim import SGD
from lockstep_bench.methods.training.point_estimate import PointState

N_TRAIN, SIZE, ALPHA, LR, K = 12, 5, 0.7, 0.05, 3
TASK = Task("any", Gaussian((0.01, 1.0)), MLP(3, (4,)))


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def problem_of(method) -> Problem:
    one = torch.tensor(1.0, dtype=torch.float64)
    hparams = HParams(lr=LR * one, prior_precision=ALPHA * one)
    return Problem(method.network(TASK), method.likelihood(TASK), hparams, N_TRAIN * one, 2 * one, 3 * one)


def test_mixture_density_nll_equals_scipy():
    outputs, y = 2 * numbers(SIZE, 3 * K), numbers(SIZE, seed=1)
    logits, means, log_variances = outputs.numpy().reshape(SIZE, 3, K).transpose(1, 0, 2)
    density = stats.norm.pdf(y.numpy()[:, None], means, np.exp(log_variances / 2))
    exact = -np.log((special.softmax(logits, 1) * density).sum(1))
    np.testing.assert_allclose(Mixture.of(outputs).nll(y), exact, rtol=1e-12)


def test_update_follows_the_gradient_of_the_documented_objective():
    method = MixtureDensityNetwork(components=K)
    problem, x, y = problem_of(method), numbers(1, SIZE, 3, seed=1), numbers(1, SIZE)
    weights = numbers(problem.dim, seed=3).requires_grad_()
    logits, means, log_variances = problem.network(weights, x[0]).split(K, dim=1)
    density = MixtureSameFamily(Categorical(logits=logits), Normal(means, (log_variances / 2).exp()))
    objective = -N_TRAIN * density.log_prob(y[0]).mean() + ALPHA / 2 * weights.square().sum()
    (gradient,) = torch.autograd.grad(objective, weights)
    state, step = PointState(weights.detach(), SGD()), Step(torch.tensor(1.0), None)
    after, reported = method.update(problem, state, Batch(x, y), Noise(None), step)
    torch.testing.assert_close(after.weights, (weights - LR * gradient).detach())
    torch.testing.assert_close(reported["objective"], objective.detach())


def test_one_component_is_heteroscedastic_regression():
    mixture, gaussian = MixtureDensityNetwork(components=1), BetaNLL(0.0)
    problem, x, y = problem_of(mixture), numbers(SIZE, 3, seed=1), numbers(SIZE)
    weights = numbers(problem.dim, seed=3)
    outputs = problem.network(weights, x)
    nll = problem_of(gaussian).nll_of_outputs(outputs[:, 1:], y)
    torch.testing.assert_close(mixture.losses(problem, weights, x, y, Noise(None)), nll)


def test_mixture_predictive_is_in_original_units():
    method = MixtureDensityNetwork(components=K)
    problem, x, y = problem_of(method), numbers(6, 3, seed=1), numbers(6)
    weights = numbers(problem.dim, seed=3)
    predictive = method.predict(problem, weights, x, Noise(None), 10)
    assert predictive.means.shape == (1, 6, K)
    nll = method.losses(problem, weights, x, y, Noise(None))
    torch.testing.assert_close(-metrics.log_density(predictive, 2 + 3 * y), nll + math.log(3))


def test_component_variances_stay_within_bounds():
    outputs = torch.tensor([[0.0, 0.0, 1.0, 2.0, -1e6, 1e6]], dtype=torch.float64)
    mixture = Mixture.of(outputs)
    assert mixture.log_variance.tolist() == [[-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE]]
    assert bool(mixture.nll(torch.tensor([1e3]).double()).isfinite())


def test_two_component_network_learns_bimodal_targets():
    # y is x or -x, each with probability 1/2, and noise of sd 0.1: no Gaussian has such a density.
    generator, n = np.random.default_rng(0), 1200
    x = generator.uniform(1, 2, (n, 1))
    y = generator.choice([-1, 1], n) * x[:, 0] + 0.1 * generator.standard_normal(n)
    task, training, test = Task("modes", Gaussian((1.0, 1.0)), MLP(1, (20,))), np.arange(1000), np.arange(1000, n)
    found = {}
    for method in (MixtureDensityNetwork(), BetaNLL(0.0)):
        fits = [Fit(training, {"lr": 0.01, "prior_precision": 1e-3}, seed) for seed in range(2)]
        schedule = Schedule.of(method, 1000, 50, 1000, 1000)
        stack = train_stacked(method, task, Data.of(x, y), fits, schedule)
        assert stack.execution == "native"
        scores = [metrics.nmll(each, torch.tensor(y[test])) for each in stack.predict([test] * 2, 1)]
        found[method.name] = np.mean(scores)
    densities = stats.norm.pdf(y[test][:, None], x[test] * [-1, 1], 0.1).mean(1)
    true = -np.log(densities).mean()
    assert found["mdn"] == pytest.approx(true, abs=0.1)
    assert found["beta-nll"] > true + 1


def test_number_of_components_is_a_method_option():
    assert methods.get("mdn(components=2)").network(TASK).n_outputs == 6
    assert methods.get("mdn").network(TASK).n_outputs == 15
