"""SLANG against dense matrices, a loop of autograd and the exact posterior."""

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.reference.conjugate import orthogonal
from lockstep_bench.methods.maths.gaussian import LowRankPrecision
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.example_gradients import ExampleGradients, Vectors
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet, ResNet, preresnet_20
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Task
from lockstep_bench.methods.slang import SLANG, ReleasedSLANG, SLANGState, top_factors


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_state(problem, k: int) -> SLANGState:
    """Any state, with a posterior that is far from a diagonal one."""
    mean, momentum = 0.5 * numbers(2, problem.dim, seed=1)
    factors, diagonal = 3 * numbers(k, problem.dim, seed=2), numbers(problem.dim, seed=3).exp()
    return SLANGState(LowRankPrecision(mean, factors, diagonal), momentum)


def top_factors_of(root: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the factors where R has one earlier factor, its first row, and gradients."""
    return top_factors(root[:1], ExampleGradients([Vectors(root[1:])], [root.shape[1]]), k)


def gradients_one_by_one(problem, weights, batch) -> torch.Tensor:
    """Return the gradient of the NLL of each example under each weight sample, (S M, D)."""
    rows = []
    for theta in weights:
        for x, y in zip(batch.x[0], batch.y[0], strict=True):
            leaf = theta.clone().requires_grad_()
            output = problem.network(leaf, x[None])
            nll = problem.nll_of_outputs(output, y[None]).sum()
            rows.append(torch.autograd.grad(nll, leaf)[0])
    return torch.stack(rows)


def assert_an_update_equals_dense_algebra(method_class, k: int, problem, batch, bias_precision=None):
    n_samples, size, count = 4, 5, 7
    before, momentum = some_state(problem, k)
    tape = numbers(n_samples * (k + problem.dim), seed=7)
    step = Step(torch.tensor(float(count), dtype=torch.float64), None)

    method = method_class(latent_dim=k, mc_samples=n_samples, bias_precision=bias_precision)
    after, reported = method.update(problem, SLANGState(before, momentum), batch, Noise(tape), step)

    centre = before.mean if method_class is SLANG else 2 * before.mean
    weights = before._replace(mean=centre).sample(Noise(tape), n_samples)
    g = gradients_one_by_one(problem, weights, batch).numpy()
    lr, alpha, n_train = (float(one) for one in (problem.hparams.lr, problem.hparams.prior_precision, problem.n_train))
    mean, factors, diagonal = (one.numpy() for one in before)
    if bias_precision is not None:
        is_bias = [
            number == 1 for layer in problem.network.layers for number, n in enumerate(layer.sizes) for _ in range(n)
        ]
        alpha = np.where(is_bias, bias_precision, alpha)
    fisher = n_train / (n_samples * size) * sum(np.outer(one, one) for one in g)
    matrix = (1 - lr) * factors.T @ factors + lr * fisher
    values, vectors = np.linalg.eigh(matrix)
    low_rank = vectors[:, -k:] @ np.diag(values[-k:]) @ vectors[:, -k:].T
    new_diagonal = (1 - lr) * diagonal + lr * alpha + np.diag(matrix - low_rank)
    covariance = np.linalg.inv(low_rank + np.diag(new_diagonal))
    new_momentum = 0.9 * momentum.numpy() + 0.1 * n_train * g.mean(axis=0)
    new_mean = mean - lr * covariance @ (new_momentum / (1 - 0.9**count) + alpha * mean)

    q = MultivariateNormal(centre, precision_matrix=before.precision())
    prior = MultivariateNormal(torch.zeros_like(centre), torch.diag(torch.as_tensor(1 / alpha).expand(problem.dim)))
    nll = torch.stack([problem.nll(one, batch) for one in weights]).mean()
    elbo = -problem.n_train * (nll + problem.y_scale.log()) - kl_divergence(q, prior)
    torch.testing.assert_close(reported["elbo"], elbo, rtol=1e-6, atol=0)
    found = after.posterior
    np.testing.assert_allclose(found.factors.T @ found.factors, low_rank, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.diagonal, new_diagonal, rtol=1e-9)
    np.testing.assert_allclose(after.momentum, new_momentum, rtol=1e-9)
    np.testing.assert_allclose(found.mean, new_mean, rtol=1e-9)


@pytest.mark.parametrize("method_class", [SLANG, ReleasedSLANG])
@pytest.mark.parametrize("k", [1, 3])
def test_slang_update_equals_dense_algebra(problem, batches, k, method_class):
    assert_an_update_equals_dense_algebra(method_class, k, problem, batches(1, 5))


def test_update_with_free_biases_equals_dense_algebra(problem, batches):
    assert_an_update_equals_dense_algebra(SLANG, 2, problem, batches(1, 5), bias_precision=1e-6)


@pytest.mark.parametrize("norm", ["group", "filter-response"])
def test_update_of_a_residual_network_equals_dense_algebra(hparams, norm):
    one = torch.tensor(1.0, dtype=torch.float64)
    network = PreActResNet((1, 4, 4), 3, widths=(3, 4), blocks=1, norm=norm)
    problem = Problem(network, Categorical(3), hparams, 12 * one, 0 * one, one)
    batch = Batch(numbers(1, 5, 16, seed=4), torch.tensor([[0.0, 1, 2, 1, 0]]).double())
    assert_an_update_equals_dense_algebra(SLANG, 2, problem, batch)


def test_slang_excludes_batch_norm_and_large_networks():
    def reason(network):
        return SLANG().excludes(Task("any", Categorical(10), network))

    assert "batch normalisation couples examples" in reason(preresnet_20())
    assert reason(preresnet_20(norm="group")) is None
    assert "gradient of 11168832 weights; 500000 are allowed" in reason(ResNet(norm="group"))
    assert reason(MLP(1000, (1000,), n_outputs=10)) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize(("n", "dim"), [(8, 20), (20, 8)], ids=["of examples", "of weights"])
def test_top_factors_are_exact_for_close_eigenvalues(dtype, k, n, dim):
    left, _ = torch.linalg.qr(numbers(n, 8, seed=1))
    right, _ = torch.linalg.qr(numbers(dim, 8, seed=2))
    singular = torch.tensor([5.0, 4.99, 4.9, 1.0, 1.0, 1e-3, 0.0, 0.0], dtype=torch.float64)
    root = left @ torch.diag(singular) @ right.T
    factors, lost = top_factors_of(root.to(dtype), k)
    tolerance = 20 * torch.finfo(dtype).eps * singular[0] ** 2
    matrix = root.T @ root
    # What is left of the matrix is as small as any rank-k approximation can leave it (Eckart and Young 1936).
    rest = matrix - (factors.T @ factors).double()
    assert abs(torch.linalg.matrix_norm(rest, 2) - singular[k] ** 2) < tolerance
    assert ((lost - rest.diagonal()).abs() < tolerance).all()
    assert (lost >= 0).all()


@pytest.mark.parametrize("dim", [30, 5])
def test_factor_signs_do_not_depend_on_example_order(dim):
    root = numbers(12, dim)
    factors, _ = top_factors_of(root, 3)
    for seed in range(20):
        order = torch.randperm(12, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(top_factors_of(root[order], 3)[0], factors)


@pytest.mark.parametrize("dim", [6, 3])
def test_diverged_fit_does_not_affect_stacked_decompositions(dim):
    root = torch.stack([numbers(4, dim), numbers(4, dim) * torch.nan, numbers(4, dim) * torch.inf])
    factors, lost = torch.func.vmap(lambda one: top_factors_of(one, 1))(root)
    torch.testing.assert_close(factors[0], top_factors_of(root[0], 1)[0])
    assert factors[0].isfinite().all()
    assert lost[1:].isnan().all()


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize("dim", [30, 90])
def test_decomposition_handles_gradients_of_extreme_scales(scale, dim):
    generator = torch.Generator().manual_seed(267)  # with which the squares, in single precision, do not converge
    orders = 10 ** (-22 * torch.rand(81, generator=generator))
    root = torch.randn(81, dim, generator=generator) * orders[:, None]
    factors, _ = top_factors_of(scale * root, 1)
    top = torch.linalg.svdvals(root.double())[0].item()
    assert factors.double().norm().item() == pytest.approx(scale * top, rel=1e-5)


def test_slang_starts_at_network_weights_with_unit_precision(problem):
    tape = numbers(problem.dim)
    q = SLANG(latent_dim=2).init(problem, Noise(tape)).posterior
    torch.testing.assert_close(q.mean, problem.initial_weights(Noise(tape)))
    torch.testing.assert_close(q.precision(), torch.eye(problem.dim, dtype=torch.float64))


def fitted(method):
    problem = orthogonal(0)
    return problem, problem.fit(method, lr=0.01, updates=1200, batch_size=10, seeds=range(16))


@pytest.fixture(scope="module")
def slang_fitted():
    return fitted(SLANG())


def test_slang_finds_the_exact_posterior_mean(slang_fitted):
    problem, stack = slang_fitted
    exact = problem.posterior()
    sd = np.sqrt(np.diag(exact.covariance))
    found = stack.posterior.mean.mean(0).numpy()
    assert (np.abs(found - exact.mean) < 0.1 * sd).all()


def test_slang_finds_exact_mean_with_free_bias():
    """The prior is as precise as the data, so that it would halve the bias as it halves the weights."""
    n_rows, dim = 60, 2
    design = orthogonal(0, n_rows, dim + 1)
    x, y = design.x[:, :dim], design.y + 1
    task = Task("linear", Gaussian((1.0, 1.0)), MLP(dim, hidden=()))
    hparams = {"lr": 0.01, "prior_precision": n_rows, "noise_precision": 1.0}
    fits = [Fit(np.arange(n_rows), hparams, seed) for seed in range(16)]
    stack = train_stacked(
        SLANG(bias_precision=1e-6), task, Data.of(x, y), fits, Schedule(n_rows, 10, 3000, 1, 3000), standardise=False
    )

    inputs = np.column_stack([x, np.ones(n_rows)])
    covariance = np.linalg.inv(np.diag([n_rows, n_rows, 1e-6]) + inputs.T @ inputs)
    exact = covariance @ inputs.T @ y
    found = stack.posterior.mean.mean(0).numpy()
    assert (np.abs(found - exact) < 0.1 * np.sqrt(np.diag(covariance))).all()
    assert abs(exact[-1] - y.mean()) < 0.1


def test_posterior_precision_uses_the_empirical_fisher_matrix(slang_fitted):
    """The diagonal is alpha + sum_n E_q[g_n^2], the expectation in closed form; the Hessian's may be far from it."""
    problem, stack = slang_fitted
    exact = problem.posterior()
    residual = problem.y - problem.x @ exact.mean
    variance = np.einsum("nd,de,ne->n", problem.x, exact.covariance, problem.x)
    expected = problem.alpha + problem.beta**2 * (problem.x**2 * (residual**2 + variance)[:, None]).sum(axis=0)
    q = stack.posterior
    found = (q.diagonal + q.factors.square().sum(1)).mean(0).numpy()
    np.testing.assert_allclose(found, expected, rtol=0.1)


def test_released_code_converges_to_half_the_mean():
    problem, stack = fitted(ReleasedSLANG())
    state_mean = stack.posterior.mean.mean(0).numpy() / 2
    # 2 m is the mean under a prior of half the precision.
    doubled = problem._replace(alpha=problem.alpha / 2).posterior().mean
    sd = np.sqrt(np.diag(problem.posterior().covariance))
    assert (np.abs(2 * state_mean - doubled) < 0.1 * sd).all()
    assert np.abs(state_mean - problem.posterior().mean).max() > 3 * sd.max()  # which nobody could call the exact mean


def test_convolutional_network_trains_equally_in_a_stack():
    generator = np.random.default_rng(0)
    data = Data.of(generator.standard_normal((12, 16)), np.arange(12) % 3)
    hparams = {"lr": 0.02, "prior_precision": 0.5}
    fits = [Fit(np.arange(3, 12), hparams, 1), Fit(np.arange(9), hparams, 2)]
    task = Task("tiny", Categorical(3), ConvNet((1, 4, 4), (2, 3), n_outputs=3))
    schedule = Schedule(9, 4, 3, 1, 3)
    together = train_stacked(SLANG(), task, data, fits, schedule, dtype=torch.float64)
    for number, fit in enumerate(fits):
        alone = train_stacked(SLANG(), task, data, [fit], schedule, dtype=torch.float64, stacked=False)
        for ours, its in zip(together.posterior, alone.posterior, strict=True):
            torch.testing.assert_close(ours[number], its[0])


def test_float32_stays_finite_with_huge_gradients():
    """100 updates from the initial weights on targets of noise precision 1e6 times the usual."""
    one = torch.tensor(1.0)
    hparams = HParams(lr=0.08 * one, prior_precision=0.01 * one, noise_precision=1e6 * one)
    problem = Problem(MLP(3, (50,)), Gaussian((0.01, 1.0)), hparams, 10_000 * one, 0 * one, one)
    method, generator = SLANG(), torch.Generator().manual_seed(0)
    state = method.init(problem, Noise(torch.randn(problem.dim, generator=generator)))
    x = torch.randn(1, 10, 3, generator=generator)
    for count in range(1, 101):
        tape = Noise(torch.randn(4 * (1 + problem.dim), generator=generator))
        state, _ = method.update(problem, state, Batch(x, x.sin().sum(-1)), tape, Step(count * one, None))
    assert all(part.isfinite().all() for part in state.posterior)
