"""beta-NLL, evidential and quantile regression against autograd of the written losses, and what is known exactly."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, StudentT
from torch.nn.functional import softplus

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.beta_nll import BetaNLL
from lockstep_bench.methods.evidential import LEAST, Evidence, Evidential
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.quantile import LEAST_DISTANCE, LEVELS, SimultaneousQuantiles, in_order
from lockstep_bench.methods.training.optim import SGD
from lockstep_bench.methods.training.point_estimate import PointState

N_TRAIN, SIZE, ALPHA, LAMBDA, LR = 12, 5, 0.7, 0.3, 0.05
TASK = Task("any", Gaussian((0.01, 1.0)), MLP(3, (4,)))


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def problem_of(method) -> Problem:
    one = torch.tensor(1.0, dtype=torch.float64)
    hparams = HParams(lr=LR * one, prior_precision=ALPHA * one, penalty_weight=LAMBDA * one)
    return Problem(method.network(TASK), method.likelihood(TASK), hparams, N_TRAIN * one, 2 * one, 3 * one)


def beta_nll(beta):
    def loss(network, weights, x, y, unit):
        mean, log_variance = network(weights, x[None])[0]
        nll = -Normal(mean, (log_variance / 2).exp()).log_prob(y)
        return log_variance.detach().exp().item() ** beta * nll  # a number has no gradient

    return loss


def evidential(network, weights, x, y, unit):
    location, *others = network(weights, x[None])[0]
    nu, a, b = softplus(others[0]) + LEAST, softplus(others[1]) + 1 + LEAST, softplus(others[2]) + LEAST
    marginal = StudentT(2 * a, location, (b * (1 + nu) / (nu * a)) ** 0.5)
    return -marginal.log_prob(y) + LAMBDA * (y - location).abs() * (2 * nu + a)


def pinball(network, weights, x, y, unit):
    level = Normal(0.0, 1.0).cdf(unit)
    error = y - network(weights, torch.cat([x, (level[None] - 0.5) * math.sqrt(12)])[None])[0, 0]
    return level * error if error > 0 else (level - 1) * error


LOSSES = [
    pytest.param(BetaNLL(0.0), beta_nll(0.0), id="nll"),
    pytest.param(BetaNLL(), beta_nll(0.5), id="beta-nll"),
    pytest.param(Evidential(), evidential, id="evidential"),
    pytest.param(SimultaneousQuantiles(), pinball, id="quantile"),
]


@pytest.mark.parametrize(("method", "loss"), LOSSES)
def test_update_follows_the_gradient_of_the_documented_loss(method, loss):
    problem, unit = problem_of(method), numbers(SIZE, seed=2)
    x, y = numbers(1, SIZE, 3, seed=1), numbers(1, SIZE)
    weights = numbers(problem.dim, seed=3).requires_grad_()
    each = [loss(problem.network, weights, x[0, row], y[0, row], unit[row]) for row in range(SIZE)]
    objective = N_TRAIN * sum(each) / SIZE + ALPHA / 2 * weights.square().sum()
    (gradient,) = torch.autograd.grad(objective, weights)
    state, step = PointState(weights.detach(), SGD()), Step(torch.tensor(1.0), None)
    after, reported = method.update(problem, state, Batch(x, y), Noise(unit), step)
    torch.testing.assert_close(after.weights, (weights - LR * gradient).detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(reported["objective"], objective.detach(), rtol=1e-5, atol=1e-5)


def test_beta_1_gives_the_squared_error_gradient():
    method = BetaNLL(1.0)
    problem, x, y = problem_of(method), numbers(6, 3, seed=1), numbers(6)
    weights = numbers(problem.dim, seed=3).requires_grad_()
    (ours,) = torch.autograd.grad(method.losses(problem, weights, x, y, Noise(None)).sum(), weights)
    squares = 0.5 * (problem.network(weights, x)[:, 0] - y).square().sum()
    (theirs,) = torch.autograd.grad(squares, weights)
    of_mean = slice(-10, None, 2)  # of the last layer's ten numbers, those of the first of two outputs
    torch.testing.assert_close(ours[of_mean], theirs[of_mean])


def test_evidential_predictive_is_the_student_t_marginal():
    method = Evidential()
    problem, weights, x = problem_of(method), numbers(method.network(TASK).dim, seed=3), numbers(6, 3, seed=1)
    y = numbers(6)
    predictive = method.predict(problem, weights, x, Noise(None), 10)
    assert predictive.df.shape == (1, 6)
    assert bool((predictive.df > 2).all())
    log_density = StudentT(*predictive).log_prob(2 + 3 * y)[0]
    nll = Evidence.of(problem.network(weights, x)).nll(y)
    torch.testing.assert_close(-log_density, nll + math.log(3), rtol=1e-6, atol=1e-6)


def test_evidential_outputs_stay_finite_if_softplus_underflows():
    evidence = Evidence.of(torch.full((1, 4), -1000.0))
    assert all(bool(part.isfinite().all()) for part in evidence)
    assert float(2 * evidence.shape) > 2
    assert bool(evidence.nll(torch.zeros(1)).isfinite().all())


def test_crossing_predicted_quantiles_are_sorted():
    values = in_order(torch.tensor([[3.0, 1.0, 1.0, 2.0]], dtype=torch.float64))
    np.testing.assert_allclose(values, [[1.0, 1.0 + LEAST_DISTANCE, 2.0, 3.0]])
    method = SimultaneousQuantiles()
    problem, x = problem_of(method), numbers(6, 3, seed=1)
    predictive = method.predict(problem, torch.zeros(problem.dim).double(), x, Noise(None), 10)
    assert predictive.values.shape == predictive.levels.shape == (1, 6, len(LEVELS))
    assert bool((predictive.values.diff() > 0).all())


def test_quantile_regression_learns_uniform_noise_exactly():
    # y = x + U(-0.5, 0.5) has the quantiles x + tau - 0.5, which are linear in x and tau.
    task = Task("uniform", Gaussian((1.0, 1.0)), MLP(1, hidden=()))
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (4000, 1))
    y = x[:, 0] + generator.uniform(-0.5, 0.5, 4000)
    method, updates = SimultaneousQuantiles(), 4000
    fits = [Fit(np.arange(4000), {"lr": 0.002, "prior_precision": 1e-6}, seed) for seed in range(4)]
    schedule = Schedule.of(method, 4000, 100, updates, updates)
    stack = train_stacked(method, task, Data.of(x, y), fits, schedule, standardise=False)
    predictives = list(stack.predict([np.arange(50)] * 4, 1))
    found = np.mean([predictive.values[0] for predictive in predictives], axis=0)
    np.testing.assert_allclose(found, x[:50] + np.array(LEVELS) - 0.5, atol=0.03)


@pytest.mark.parametrize("method", [BetaNLL(), Evidential(), SimultaneousQuantiles()], ids=lambda method: method.name)
def test_regression_losses_exclude_classification(method):
    assert method.excludes(Task("any", Categorical(3), MLP(3, n_outputs=3))) == "no categorical likelihood"
    assert method.excludes(TASK) is None


def test_quantile_level_inputs_require_a_multilayer_perceptron():
    images = Task("any", Gaussian((1.0, 1.0)), preresnet_20())
    assert "multilayer perceptron" in SimultaneousQuantiles().excludes(images)
