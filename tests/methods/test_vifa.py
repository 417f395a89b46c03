"""VIFA against autograd of the written objective, dense algebra and the exact posterior."""

import numpy as np
import pytest
import torch
from torch.func import grad

from bench.conjugate import correlated
from bench.distances import relative_distance
from methods.noise import Noise
from methods.optim import SGD, clip_norm
from methods.problem import Batch, Step
from methods.vifa import MAX_GRADIENT_NORM, VIFA, LinearVIFA, State, posterior_of

FIRST = Step(torch.tensor(1.0, dtype=torch.float64), None)


def negative_elbo(params, problem, batch, hparams, latent, unit):
    """-H[q] - E_q[log p(theta)] - E_q[log p(D | theta)] with a dense covariance, the last term by the given samples."""
    mean, factors, variance = params[0], params[1:-1].T, params[-1].exp()
    covariance = factors @ factors.T + torch.diag(variance)
    entropy = 0.5 * torch.logdet(covariance)
    prior = -0.5 * hparams.prior_precision * (covariance.trace() + mean @ mean)
    samples = [factors @ h + mean + variance.sqrt() * z for h, z in zip(latent, unit, strict=True)]
    data = [
        problem.n_train * problem.mean_nll(theta, Batch(batch.x[number], batch.y[number]), hparams)
        for number, theta in enumerate(samples)
    ]
    return -entropy - prior + sum(data) / len(data)


@pytest.mark.parametrize(("noise_precision", "clipped"), [(0.3, [True] * 3), (0.001, [False] * 3)])
@pytest.mark.parametrize("k", [1, 3])
def test_one_sgd_update_follows_the_clipped_gradient_of_the_negative_elbo(
    problem, hparams, batches, k, noise_precision, clipped
):
    n_samples = 4
    hparams.noise_precision = torch.tensor(noise_precision, dtype=torch.float64)
    method = VIFA(latent_dim=k, mc_samples=n_samples, optimizer=SGD, factor_lr_ratio=0.1)
    generator = torch.Generator().manual_seed(0)
    params = 0.5 * torch.randn(k + 2, problem.dim, generator=generator, dtype=torch.float64)
    tape = torch.randn(n_samples * (k + problem.dim), generator=generator, dtype=torch.float64)
    batch = batches(n_samples)

    after = method.update(problem, State(params, SGD()), batch, hparams, Noise(tape), FIRST).params

    latent = tape[: n_samples * k].reshape(n_samples, k)
    unit = tape[n_samples * k :].reshape(n_samples, problem.dim)
    gradient = grad(negative_elbo)(params, problem, batch, hparams, latent, unit)
    blocks = [gradient[:1], gradient[1:-1], gradient[-1:]]
    assert [bool(block.norm() > MAX_GRADIENT_NORM) for block in blocks] == clipped
    expected = [
        before - hparams.lr * ratio * block * min(1, MAX_GRADIENT_NORM / block.norm())
        for before, block, ratio in zip((params[:1], params[1:-1], params[-1:]), blocks, (1, 0.1, 1), strict=True)
    ]
    torch.testing.assert_close(after, torch.cat(expected), rtol=1e-9, atol=1e-9)


def test_starts_at_mean_zero_unit_variance_and_orthonormal_factors(problem, hparams):
    method = VIFA(latent_dim=3)
    tape = torch.randn(3 * problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q = posterior_of(method.init(problem, hparams, Noise(tape)).params)
    assert q.mean.abs().max() == 0
    assert torch.equal(q.variance, torch.ones_like(q.variance))
    torch.testing.assert_close(q.factors @ q.factors.T, torch.eye(3, dtype=torch.float64))


def test_clipping_keeps_the_direction_and_short_gradients():
    long, short = torch.tensor([30.0, 40.0]), torch.tensor([0.3, 0.4])
    torch.testing.assert_close(clip_norm(long, 10.0), torch.tensor([6.0, 8.0]))
    assert torch.equal(clip_norm(short, 10.0), short)
    assert torch.equal(clip_norm(torch.zeros(2), 10.0), torch.zeros(2))


def test_the_linear_variant_trains_a_linear_network_with_its_own_rates():
    from methods.likelihoods import Gaussian
    from methods.networks import MLP
    from methods.problem import Task

    task = Task("any", Gaussian((0.01, 1.0)), MLP(5))
    assert LinearVIFA().network(task).dim == 6
    space = LinearVIFA().search_space(task)
    assert (space["lr"].low, space["lr"].high) == (0.001, 0.01)


def covariances(stack) -> list[np.ndarray]:
    q = stack.posterior
    return [(f.T @ f + torch.diag(v)).numpy() for f, v in zip(q.factors, q.variance, strict=True)]


def test_recovers_the_exact_posterior_of_the_synthetic_linear_task():
    # Table 5.1's settings with 1500 of its 5000 updates, the mean of six seeds; on three data sets such a run measured
    # 0.15, 0.18 and 0.22. The mean-field covariance is at 0.53 and one of half the scale at 0.50.
    problem = correlated(seed=0)
    exact = problem.posterior()
    stack = problem.fit(VIFA(1, 10, SGD, factor_lr_ratio=0.01), lr=0.01, updates=1500, batch_size=100, seeds=range(6))
    assert relative_distance(np.mean(covariances(stack), axis=0), exact.covariance) < 0.25
    assert relative_distance(stack.posterior.mean.mean(0).numpy(), exact.mean) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("k", "published", "stderr"), [(1, 0.0983, 0.0129), (2, 0.1053, 0.0199)], ids=["K=1", "K=2"])
def test_table_5_1_of_the_thesis(k, published, stderr):
    """Ten seeds of 5000 updates: the mean relative covariance distance is the published one, within 2 joint errors."""
    distances = []
    for seed in range(10):
        problem = correlated(seed)
        stack = problem.fit(VIFA(k, 10, SGD, factor_lr_ratio=0.01), 0.01, updates=5000, batch_size=100, seeds=(seed,))
        distances.append(relative_distance(covariances(stack)[0], problem.posterior().covariance))
    ours, our_stderr = np.mean(distances), np.std(distances, ddof=1) / np.sqrt(10)
    assert abs(ours - published) < 2 * np.hypot(our_stderr, stderr)
