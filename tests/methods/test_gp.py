"""The Gaussian process against scikit-learn's, autograd of the written bound, and degenerate data."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from torch.distributions import MultivariateNormal

from lockstep_bench.methods import gp
from lockstep_bench.methods.gp import GaussianProcess, bound, inducing_points, kernel_of, posterior_of, predicted

UNITS = SimpleNamespace(y_mean=torch.tensor(5.0), y_scale=torch.tensor(2.0))
LOGS = torch.tensor([0.1, -0.3, 0.5, 0.2, -1.0], dtype=torch.float64)


def data(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs (n, 3) of which one is irrelevant, and noisy targets (n,) of a smooth function."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, 3))
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.2 * generator.standard_normal(n)
    return torch.tensor(x), torch.tensor(y - y.mean())


def in_scikit_learn(logs, matern: bool = False) -> GaussianProcessRegressor:
    kernel = kernel_of(torch.as_tensor(logs))
    lengths = kernel.lengthscales.numpy()
    shape = Matern(lengths, nu=2.5) if matern else RBF(lengths)
    return GaussianProcessRegressor(
        ConstantKernel(kernel.variance.item()) * shape + WhiteKernel(kernel.noise.item()), optimizer=None
    )


@pytest.mark.parametrize("matern", [False, True])
def test_gp_with_all_points_inducing_is_exact(matern):
    (x, y), (at, _) = data(40), data(15, seed=1)
    theirs = in_scikit_learn(LOGS, matern).fit(x.numpy(), y.numpy())
    assert bound(LOGS, x, y, x, matern)[0].item() == pytest.approx(theirs.log_marginal_likelihood(), abs=1e-5)
    mean, sd = theirs.predict(at.numpy(), return_std=True)
    ours = predicted(posterior_of(kernel_of(LOGS, matern), x, y, x), at)
    np.testing.assert_allclose(ours[0], mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours[1], sd**2, rtol=1e-5)


def test_matern_gp_equals_dense_numpy_computation():
    (x, y), (at, _) = ((each.numpy() for each in data(size, seed)) for size, seed in ((30, 0), (5, 1)))
    lengths, variance, noise = np.exp(LOGS[:3].numpy()), np.exp(2 * LOGS[3].item()), np.exp(LOGS[4].item())

    def covariance(a, b):
        r = np.sqrt(5 * (((a[:, None] - b) / lengths) ** 2).sum(-1))
        return variance * (1 + r + r**2 / 3) * np.exp(-r)

    inverse = np.linalg.inv(covariance(x, x) + noise * np.eye(30))
    mean = covariance(at, x) @ inverse @ y
    spread = variance + noise - np.diag(covariance(at, x) @ inverse @ covariance(x, at))
    rows = torch.tensor(x)
    ours = predicted(posterior_of(kernel_of(LOGS, matern=True), rows, torch.tensor(y), rows), torch.tensor(at))
    np.testing.assert_allclose(ours[0], mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours[1], spread, rtol=1e-5)


def written_kernel(kernel, a, b):
    """The covariances at a and b, differentiable where two inputs are equal: their distance is then not quite 0."""
    squared = ((a[:, None] - b) / kernel.lengthscales).square().sum(-1)
    if not kernel.matern:
        return kernel.variance * torch.exp(-squared / 2)
    r = torch.sqrt(5 * squared + 1e-16)
    return kernel.variance * (1 + r + r**2 / 3) * torch.exp(-r)


@pytest.mark.parametrize("matern", [False, True])
def test_variational_bound_and_gradient_equal_the_documented_formula(matern):
    (x, y), (z, _) = data(40), data(7, seed=1)
    logs = LOGS.clone().requires_grad_()
    kernel = kernel_of(logs, matern)
    inner = written_kernel(kernel, z, z) + gp.JITTER * kernel.variance * torch.eye(7)
    cross = written_kernel(kernel, z, x)
    low_rank = cross.T @ torch.linalg.solve(inner, cross)
    evidence = MultivariateNormal(torch.zeros(40).double(), low_rank + kernel.noise * torch.eye(40)).log_prob(y)
    written = evidence - (40 * kernel.variance - low_rank.trace()) / (2 * kernel.noise)
    value, gradient = bound(LOGS, x, y, z, matern)
    torch.testing.assert_close(value, written.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(written, logs)[0])


def test_posterior_from_chunks_equals_that_of_all_rows(monkeypatch):
    (x, y), (z, _) = data(40), data(7, seed=1)
    whole = posterior_of(kernel_of(LOGS), x, y, z)
    monkeypatch.setattr(gp, "AT_ONCE", 9)
    torch.testing.assert_close(posterior_of(kernel_of(LOGS), x, y, z), whole)


def test_sparse_predictive_equals_the_dense_formula():
    (x, y), (z, _), (at, _) = data(40), data(7, seed=1), data(15, seed=2)
    kernel = kernel_of(LOGS)
    inner = torch.linalg.inv(kernel(z, z) + gp.JITTER * kernel.variance * torch.eye(7))
    low_rank = kernel(x, z) @ inner @ kernel(z, x) + kernel.noise * torch.eye(40)
    cross = kernel(at, z) @ inner @ kernel(z, x)
    mean = cross @ torch.linalg.solve(low_rank, y)
    variance = kernel.variance + kernel.noise - (cross @ torch.linalg.solve(low_rank, cross.T)).diagonal()
    ours = predicted(posterior_of(kernel, x, y, z), at)
    torch.testing.assert_close(ours[0], mean, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours[1], variance, rtol=1e-6, atol=1e-6)


def test_optimised_evidence_is_at_least_scikit_learns():
    x, y = data(60)
    posterior = GaussianProcess().fit(UNITS, x, y, 0)
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF([1.0] * 3, (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 10.0))
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(x.numpy(), y.numpy())
    ours = posterior.kernel
    logs = torch.cat([ours.lengthscales.log(), ours.variance.sqrt().log()[None], ours.noise.log()[None]])
    assert bound(logs, x, y, x)[0] > theirs.log_marginal_likelihood_value_ - 0.01
    assert ours.lengthscales[2] > 3 * ours.lengthscales[0]  # the third input is irrelevant


def test_gp_predictions_are_in_original_units():
    x, y = data(60)
    posterior = GaussianProcess().fit(UNITS, x, y, 0)
    predictive = GaussianProcess().predict(UNITS, posterior, x, None, 1)
    mean, variance = predicted(posterior, x)
    torch.testing.assert_close(predictive.mean[0], 5 + 2 * mean)
    torch.testing.assert_close(predictive.variance[0], 4 * variance)


def test_repeated_inputs_give_one_inducing_point():
    x, y = data(30)
    twice = torch.cat([x, x])
    assert len(inducing_points(twice, 30)) == 30
    theirs = in_scikit_learn(LOGS).fit(twice.numpy(), torch.cat([y, -y]).numpy())
    ours = bound(LOGS, twice, torch.cat([y, -y]), inducing_points(twice, 30))[0]
    assert ours.item() == pytest.approx(theirs.log_marginal_likelihood(), abs=1e-4)


def test_large_data_sets_use_all_allowed_inducing_points():
    x, y = data(80)
    posterior = GaussianProcess(inducing=10).fit(UNITS, x, y, 0)
    assert posterior.inducing.shape == (10, 3)
    mean, variance = predicted(posterior, x)
    assert (y - mean).square().mean() < 0.1 < y.square().mean()
    assert (variance > 0).all()


@pytest.mark.parametrize("kind", ["constant column", "equal targets", "two rows", "no noise"])
def test_degenerate_data_give_finite_gp_predictions(kind):
    x, y = data(2 if kind == "two rows" else 50)
    if kind == "constant column":
        x[:, 2] = 0
    y = {"equal targets": 0 * y, "no noise": torch.sin(x[:, 0])}.get(kind, y)
    mean, variance = predicted(GaussianProcess().fit(UNITS, x, y, 0), x)
    assert mean.isfinite().all()
    assert variance.isfinite().all()
    assert (variance > 0).all()


@pytest.mark.parametrize(("n_rows", "inducing"), [(300, 280), (300, 100), (300, 3)])
def test_fit_maximises_the_bound_of_all_rows(n_rows, inducing, monkeypatch):
    """The gradient of the bound over all rows vanishes, but for what L-BFGS tolerates."""
    monkeypatch.setattr(gp, "LEAST_GAIN", 1e-10)
    x, y = data(n_rows)
    posterior = GaussianProcess(inducing=inducing).fit(UNITS, x, y, 0)
    kernel = posterior.kernel
    logs = torch.cat([kernel.lengthscales.log(), kernel.variance.sqrt().log()[None], kernel.noise.log()[None]])
    inside = [*(logs[:-2].exp() < 0.99 * gp.LENGTHSCALES[1]).tolist(), True, True]  # others end at their bound
    gradient = bound(logs, x, y, posterior.inducing)[1] / n_rows
    assert gradient[inside].abs().max() < 2e-3


def test_fit_begins_again_where_all_would_be_noise(monkeypatch):
    """The first hundred rows are fitted exactly. From there the bound of 1,000 rows rises to that of noise alone."""
    monkeypatch.setattr(gp, "FIRST_ROWS", 100)
    x = torch.tensor(np.random.default_rng(0).standard_normal((1000, 6)))
    y = torch.sin(1.5 * x[:, :3]).sum(1) + 0.7 * x[:, 3]
    posterior = GaussianProcess(inducing=100).fit(UNITS, x, y - y.mean(), 0)
    assert (y - y.mean() - predicted(posterior, x)[0]).square().mean() < 0.01 * y.var()
