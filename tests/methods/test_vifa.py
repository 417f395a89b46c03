"""VIFA against autograd of the documented objective, dense algebra and the exact posterior."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.func import grad_and_value

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.bench.reference.distances import relative_distance
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths import gradients
from lockstep_bench.methods.maths.likelihoods import Categorical, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Batch, Step, Task
from lockstep_bench.methods.training.optim import SGD, clip_norm
from lockstep_bench.methods.vifa import MAX_GRADIENT_NORM, VIFA, LinearVIFA, VIFAState, posterior_of

FIRST = Step(torch.tensor(1.0, dtype=torch.float64), None)


def negative_elbo(params, problem, batch, latent, unit):
    """-H[q] - E_q[log p(theta)] - E_q[log p(D | theta)] with a dense covariance, the last term by the given samples."""
    mean, factors, variance = params[0], params[1:-1].T, params[-1].exp()
    covariance = factors @ factors.T + torch.diag(variance)
    entropy = 0.5 * torch.logdet(covariance)
    prior = -0.5 * problem.hparams.prior_precision * (covariance.trace() + mean @ mean)
    samples = [factors @ h + mean + variance.sqrt() * z for h, z in zip(latent, unit, strict=True)]
    data = [
        problem.n_train * problem.nll(theta, Batch(batch.x[number], batch.y[number]))
        for number, theta in enumerate(samples)
    ]
    return -entropy - prior + sum(data) / len(data)


@pytest.mark.parametrize(("noise_precision", "clipped"), [(0.3, [True] * 3), (0.001, [False] * 3)])
@pytest.mark.parametrize("k", [1, 3])
def test_sgd_update_follows_clipped_negative_elbo_gradient(problem, hparams, batches, k, noise_precision, clipped):
    n_samples = 4
    hparams.noise_precision = torch.tensor(noise_precision, dtype=torch.float64)
    method = VIFA(latent_dim=k, mc_samples=n_samples, optimizer="sgd", factor_lr_ratio=0.1)
    generator = torch.Generator().manual_seed(0)
    params = 0.5 * torch.randn(k + 2, problem.dim, generator=generator, dtype=torch.float64)
    tape = torch.randn(n_samples * (k + problem.dim), generator=generator, dtype=torch.float64)
    batch = batches(n_samples)

    state, reported = method.update(problem, VIFAState(params, SGD()), batch, Noise(tape), FIRST)
    after = state.params

    latent = tape[: n_samples * k].reshape(n_samples, k)
    unit = tape[n_samples * k :].reshape(n_samples, problem.dim)
    gradient, value = grad_and_value(negative_elbo)(params, problem, batch, latent, unit)
    constant = 0.5 * problem.dim * (1 + hparams.prior_precision.log())
    torch.testing.assert_close(reported["elbo"], constant - value - problem.n_train * problem.y_scale.log())
    blocks = [gradient[:1], gradient[1:-1], gradient[-1:]]
    assert [bool(block.norm() > MAX_GRADIENT_NORM) for block in blocks] == clipped
    expected = [
        before - hparams.lr * ratio * block * min(1, MAX_GRADIENT_NORM / block.norm())
        for before, block, ratio in zip((params[:1], params[1:-1], params[-1:]), blocks, (1, 0.1, 1), strict=True)
    ]
    torch.testing.assert_close(after, torch.cat(expected), rtol=1e-9, atol=1e-9)


def test_vifa_starts_at_zero_mean_and_orthonormal_factors(problem, hparams):
    method = VIFA(latent_dim=3)
    tape = torch.randn(3 * problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q = posterior_of(method.init(problem, Noise(tape)).params)
    assert q.mean.abs().max() == 0
    assert torch.equal(q.variance, torch.ones_like(q.variance))
    torch.testing.assert_close(q.factors @ q.factors.T, torch.eye(3, dtype=torch.float64))


def test_clipping_preserves_direction_and_short_gradients():
    long, short = torch.tensor([30.0, 40.0]), torch.tensor([0.3, 0.4])
    torch.testing.assert_close(clip_norm(long, 10.0), torch.tensor([6.0, 8.0]))
    assert torch.equal(clip_norm(short, 10.0), short)
    assert torch.equal(clip_norm(torch.zeros(2), 10.0), torch.zeros(2))


def test_linear_variant_trains_a_linear_network():
    task = Task("any", Gaussian((0.01, 1.0)), MLP(5))
    assert LinearVIFA().network(task).dim == 6
    space = LinearVIFA().search_space(task)
    assert (space["lr"].low, space["lr"].high) == (0.001, 0.01)


@pytest.mark.parametrize("k", [1, 3])
def test_sequential_samples_give_the_same_update(problem, hparams, batches, k, monkeypatch):
    method, batch = VIFA(latent_dim=k, mc_samples=3), batches(3)
    generator = torch.Generator().manual_seed(0)
    params = 0.5 * torch.randn(k + 2, problem.dim, generator=generator, dtype=torch.float64)
    tape = torch.randn(3 * (k + problem.dim), generator=generator, dtype=torch.float64)
    found = []
    for at_once in (0, problem.dim):
        monkeypatch.setattr(gradients, "AT_ONCE", at_once)
        found.append(method.update(problem, VIFAState(params, SGD()), batch, Noise(tape), FIRST))
    one_by_one, side_by_side = ((state.params, reported["elbo"]) for state, reported in found)
    torch.testing.assert_close(one_by_one, side_by_side, rtol=1e-12, atol=1e-12)


def staged(problem, optimizer="sgd"):
    """VIFA of two stages and its first state, of the `problem` fixture."""
    method = VIFA(mc_samples=2, optimizer=optimizer, two_stages=True)
    tape = torch.randn(2 * problem.dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return method, tape, method.init(problem, Noise(tape))


def step(method, update: int, plan: Plan) -> Step:
    return Step(torch.tensor(float(update), dtype=torch.float64), method.phase(update, plan))


def test_two_stage_vifa_starts_at_network_weights(problem, hparams):
    _, tape, state = staged(problem)
    q = posterior_of(state.params)
    torch.testing.assert_close(q.mean, problem.initial_weights(Noise(tape[problem.dim :])))
    assert q.factors.abs().max() < 1e-5
    torch.testing.assert_close(q.factors.square().mean().sqrt().item(), 1e-6)
    torch.testing.assert_close(q.variance, torch.full_like(q.variance, 1e-6))


def test_first_stage_lasts_two_of_ten_epochs():
    plan = Plan(n_updates=50, updates_per_epoch=5.0)
    method = VIFA(two_stages=True)
    assert [method.phase(update, plan).second for update in range(1, 51)] == [False] * 10 + [True] * 40
    assert len({method.phase(update, plan) for update in range(1, 51)}) == 2  # to be recorded
    assert VIFA().phase(1, plan) is None


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_first_stage_moves_only_the_mean(problem, hparams, batches, optimizer):
    method, tape, state = staged(problem, optimizer)
    plan, batch = Plan(10, 1.0), batches(2)
    noise = torch.cat([tape, tape[:2]])
    for update in (1, 2):
        after, _ = method.update(problem, state, batch, Noise(noise), step(method, update, plan))
        assert (after.params[0] != state.params[0]).all()
        assert torch.equal(after.params[1:], state.params[1:])
        state = after
    # With one stage and the same gradient of c the mean goes the same way.
    plain = VIFA(mc_samples=2, optimizer=optimizer)
    start = staged(problem, optimizer)[2]
    other = plain.update(problem, start, batch, Noise(noise), FIRST)[0].params[0]
    first = method.update(problem, start, batch, Noise(noise), step(method, 1, plan))[0].params[0]
    torch.testing.assert_close(first, other)


def test_second_stage_warms_up_factor_and_variance_rates(problem, hparams, batches):
    method, tape, state = staged(problem)
    plan, batch, noise = Plan(10, 1.0), batches(2), torch.cat([tape, tape[:2]])
    full = VIFA(mc_samples=2, optimizer="sgd").update(problem, state, batch, Noise(noise), FIRST)[0].params
    for update, share in ((3, 1 / 8), (6, 4 / 8), (10, 1.0)):
        after = method.update(problem, state, batch, Noise(noise), step(method, update, plan))[0].params
        torch.testing.assert_close(after[0], full[0])
        torch.testing.assert_close(after[1:] - state.params[1:], share * (full[1:] - state.params[1:]))


def test_learning_rate_schedule_scales_only_the_mean(problem, hparams, batches):
    method, tape, state = staged(problem)
    plan, batch, noise = Plan(10, 1.0), batches(2), torch.cat([tape, tape[:2]])
    full = VIFA(mc_samples=2, optimizer="sgd").update(problem, state, batch, Noise(noise), FIRST)[0].params
    hparams.full_lr, hparams.lr = hparams.lr, 0.3 * hparams.lr
    for update, share in ((1, 0.0), (6, 4 / 8), (10, 1.0)):
        after = method.update(problem, state, batch, Noise(noise), step(method, update, plan))[0].params
        torch.testing.assert_close(after[0] - state.params[0], 0.3 * (full[0] - state.params[0]))
        torch.testing.assert_close(after[1:] - state.params[1:], share * (full[1:] - state.params[1:]))


def test_parameters_trained_later_start_adam_from_step_one(problem, hparams, batches):
    # Adam's first step is the learning rate in the direction of the gradient's sign, whatever its size.
    method, tape, state = staged(problem, "adam")
    arguments = batches(2), Noise(torch.cat([tape, tape[:2]])), step(method, 101, Plan(500, 1.0))
    after = method.update(problem, state, *arguments)[0].params
    lr = hparams.lr / 400
    torch.testing.assert_close((after[1:] - state.params[1:]).abs(), lr.expand(2, problem.dim), rtol=1e-4, atol=0)


def test_deep_image_networks_train_in_two_stages():
    images = Task("any", Categorical(10), preresnet_20())
    method = VIFA(latent_dim=2, mc_samples=12).suited_to(images)
    assert (method.two_stages, method.latent_dim, method.batches_per_update) == (True, 2, 12)
    assert (method.search_space(images)["lr"].low, method.search_space(images)["lr"].high) == (1e-6, 5e-4)
    assert VIFA().suited_to(images).batches_per_update == VIFA().batches_per_update
    assert VIFA().suited_to(replace(images, pretrained=True)).batches_per_update == 12  # VIFA paper, section 4.3.1
    plain = VIFA()
    assert plain.suited_to(Task("any", Gaussian((0.01, 1.0)), MLP(5))) is plain
    assert not LinearVIFA().suited_to(images).two_stages


def covariances(stack) -> list[np.ndarray]:
    q = stack.posterior
    return [(f.T @ f + torch.diag(v)).numpy() for f, v in zip(q.factors, q.variance, strict=True)]


def test_vifa_recovers_the_exact_linear_posterior():
    # Table 5.1's settings with 1500 of its 5000 updates, the mean of six seeds; on three data sets such a run measured
    # 0.15, 0.18 and 0.22. The mean-field covariance is at 0.53 and one of half the scale at 0.50.
    problem = correlated(seed=0)
    exact = problem.posterior()
    stack = problem.fit(VIFA(1, 10, "sgd", factor_lr_ratio=0.01), lr=0.01, updates=1500, batch_size=100, seeds=range(6))
    assert relative_distance(np.mean(covariances(stack), axis=0), exact.covariance) < 0.25
    assert relative_distance(stack.posterior.mean.mean(0).numpy(), exact.mean) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("k", "published", "stderr"), [(1, 0.0983, 0.0129), (2, 0.1053, 0.0199)], ids=["K=1", "K=2"])
def test_results_reproduce_thesis_table_5_1(k, published, stderr):
    """Ten seeds of 5000 updates: the mean relative covariance distance is the published one, within 2 joint errors."""
    distances = []
    for seed in range(10):
        problem = correlated(seed)
        stack = problem.fit(
            VIFA(k, 10, SGD, factor_lr_ratio=0.01), lr=0.01, updates=5000, batch_size=100, seeds=(seed,)
        )
        distances.append(relative_distance(covariances(stack)[0], problem.posterior().covariance))
    ours, our_stderr = np.mean(distances), np.std(distances, ddof=1) / np.sqrt(10)
    assert abs(ours - published) < 2 * np.hypot(our_stderr, stderr)
