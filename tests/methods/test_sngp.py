"""SNGP against singular values, the kernel of its features and conjugate Bayesian linear regression."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.map import MAPState
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Categorical, Gaussian
from lockstep_bench.methods.maths.noise import LiveNoise, Noise
from lockstep_bench.methods.networks.mlp import MLP, features
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Step, Sweep, Task
from lockstep_bench.methods.sngp import BOUND, SNGP, FourierMLP, bounded, random_weights
from lockstep_bench.methods.training.optim import SGD

ONE = torch.tensor(1.0, dtype=torch.float64)
TASK = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, (8, 6)))
HPARAMS = {"lr": 0.02, "prior_precision": 0.5, "noise_precision": 2.0, "lengthscale": 1.5}


def noise_of(seed: int = 0) -> LiveNoise:
    return LiveNoise(torch.Generator().manual_seed(seed), torch.float64)


def rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).standard_normal((count, 3))
    return x, np.sin(2 * x.sum(1)) + x[:, 0]


def fitted(method: SNGP, task: Task = TASK, updates: int = 40, count: int = 40):
    """Two fits of all rows, without standardisation, and these rows."""
    x, y = rows(count)
    y = y if task.likelihood.standardises else (y > 0).astype(float)
    hparams = {name: HPARAMS[name] for name in method.search_space(task)}
    fits = [Fit(np.arange(count), hparams, seed) for seed in (0, 1)]
    schedule, settings = Schedule(count, 10, updates, 1, updates), {"standardise": False, "dtype": torch.float64}
    stack = train_stacked(method, task, Data.of(x, y), fits, schedule, execution="eager", **settings)
    return stack, torch.tensor(x), torch.tensor(y)


@pytest.fixture
def problem_of_features(problem, hparams):
    hparams.lengthscale = 1.5 * ONE
    return replace(problem, network=FourierMLP(MLP(3, (4,)), 20))


def test_spectral_norms_of_hidden_layers_stay_bounded():
    method = SNGP(n_features=16)
    stack, _, _ = fitted(method)
    network = method.network(TASK)
    for weights in stack.posterior.mean:
        (first, _), (second, _), *_ = network.split(weights)
        norms = [torch.linalg.svd(first.reshape(3, 8))[1][0], torch.linalg.svd(second.reshape(8, 6))[1][0]]
        assert max(norms) == pytest.approx(BOUND)  # it binds
        assert max(norms) <= BOUND + 1e-12


def test_power_iteration_tracks_the_spectral_norm(problem_of_features, batches):
    """The estimate has one iteration per update, and weights that hardly move."""
    method, network = SNGP(n_features=20), problem_of_features.network
    state = method.init(problem_of_features, noise_of())
    grown = torch.cat([5 * state.trained.weights[:12], state.trained.weights[12:]])
    state = state._replace(trained=MAPState(grown, SGD()))
    problem_of_features.hparams.lr = 1e-9 * ONE
    for _ in range(60):
        state, _ = method.update(problem_of_features, state, batches(1), Noise(None), Step(ONE, None))
    trained = state.trained.weights
    assert float(torch.linalg.svdvals(trained[:12].reshape(3, 4))[0]) == pytest.approx(BOUND, rel=1e-6)
    torch.testing.assert_close(trained, bounded(network, grown, BOUND), rtol=1e-5, atol=1e-6)


def test_update_follows_the_gradient_of_the_documented_objective(problem_of_features, hparams, batches):
    problem, batch, method = problem_of_features, batches(1), SNGP(n_features=20, bound=100.0)
    state = method.init(problem, noise_of())
    start, end = random_weights(problem.network)
    weights = state.trained.weights
    leaf = weights.clone().requires_grad_()
    hidden = torch.relu(batch.x[0] @ leaf[:12].reshape(3, 4) + leaf[12:16])
    phi = (2 / 20) ** 0.5 * torch.cos(hidden @ weights[16:96].reshape(4, 20) + weights[96:116])
    sd = (hparams.noise_precision * problem.y_scale**2) ** -0.5
    nll = -torch.distributions.Normal(phi @ leaf[116:], sd).log_prob(batch.y[0]).mean()
    squares = leaf[:16].square().sum() + leaf[116:].square().sum()
    objective = 12 * nll + 0.5 * hparams.prior_precision * squares
    (gradient,) = torch.autograd.grad(objective, leaf)
    before = state._replace(trained=MAPState(weights, SGD()))
    after, reported = method.update(problem, before, batch, Noise(None), Step(ONE, None))
    assert (start, end) == (16, 116)
    torch.testing.assert_close(after.trained.weights, weights - hparams.lr * gradient)
    torch.testing.assert_close(reported["objective"], objective.detach())


def test_random_features_approximate_squared_exponential_kernel(problem, hparams):
    hparams.lengthscale = 1.5 * ONE
    n_features, x = 20_000, noise_of(1).normal(6, 3)
    problem = replace(problem, network=FourierMLP(MLP(3, ()), n_features))
    weights = SNGP(n_features).init(problem, noise_of()).trained.weights
    phi = features(problem.network, weights, x)
    kernel = torch.exp(-0.5 * torch.cdist(x, x).square() / 1.5**2)
    torch.testing.assert_close(phi @ phi.T, kernel, rtol=0, atol=5 / n_features**0.5)  # 5 standard errors, at most


def test_last_layer_posterior_is_conjugate_on_features():
    method = SNGP(n_features=16)
    stack, x, y = fitted(method, updates=10)  # long before training has converged
    network = method.network(TASK)
    for mean, root in zip(stack.posterior.mean, stack.posterior.root, strict=True):
        phi = features(network, mean, x)
        precision = 0.5 * torch.eye(16) + 2.0 * phi.T @ phi
        torch.testing.assert_close(root @ root.T, precision)
        torch.testing.assert_close(mean[-16:], torch.linalg.solve(precision, 2.0 * phi.T @ y))


def test_classifier_precision_is_the_likelihood_hessian():
    method, task = SNGP(n_features=16), Task("tiny", Bernoulli(), MLP(3, (8, 6)))
    stack, x, y = fitted(method, task)
    for mean, root in zip(stack.posterior.mean, stack.posterior.root, strict=True):
        phi = features(method.network(task), mean, x)
        nll = lambda w, phi=phi: torch.nn.functional.binary_cross_entropy_with_logits(phi @ w, y, reduction="sum")  # noqa: E731
        hessian = torch.func.hessian(nll)(mean[-16:])
        torch.testing.assert_close(root @ root.T, 0.5 * torch.eye(16) + hessian)


def test_predictive_variance_returns_to_prior_far_away(problem, hparams):
    hparams.lengthscale = 1.5 * ONE
    n_features, method = 1000, SNGP(1000)
    problem = replace(problem, network=FourierMLP(MLP(3, ()), n_features))
    x = noise_of(1).normal(12, 3)
    state = method.sweep(problem, method.init(problem, noise_of()), Sweep(x, x[:, 0], torch.ones(12).double()))
    posterior = method.finish(problem, state)
    at = torch.cat([x, x + 100])
    phi = features(problem.network, posterior.mean, at)
    variance = torch.linalg.solve_triangular(posterior.root, phi.T, upper=False).square().sum(0)
    assert (variance[:12] < 0.4 / hparams.prior_precision).all()
    assert (variance[12:] / hparams.prior_precision**-1 - 1).abs().max() < 0.1  # 12 rows of 1000 features, 3 sds
    predictive = method.predict(problem, posterior, at, noise_of(2), 4000)
    torch.testing.assert_close(predictive.mean.var(0), 9 * variance, rtol=0.12, atol=0)  # 5 standard errors


def test_sngp_excludes_tasks_without_dense_posterior():
    assert "multilayer perceptron" in SNGP().excludes(Task("any", Categorical(10), preresnet_20()))
    many = Task("any", Categorical(10), MLP(3, (4,), 10))
    assert SNGP().excludes(many) == "its covariance would be of 2560 weights; 1000 are allowed"
