"""Online factor analysis of SGD iterates against the iterates' own covariance."""

import numpy as np
import pytest
import torch

from bench.distances import relative_distance
from methods.base import Plan
from methods.gaussian import LowRankNormal
from methods.noise import Noise
from methods.online_fa import Frame, OnlineEM, OnlineSGA
from methods.problem import Batch, Step


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def trained(method, problem, hparams, batches, plan: Plan):
    """The posterior, and all iterates with their phases."""
    state = method.init(problem, hparams, Noise(numbers(20 * problem.dim)))
    batch, iterates, phases = batches(plan.n_updates), [], []
    for number in range(plan.n_updates):
        phases.append(method.phase(number + 1, plan))
        step = Step(torch.tensor(number + 1.0, dtype=torch.float64), phases[-1])
        state = method.update(problem, state, Batch(batch.x[[number]], batch.y[[number]]), hparams, Noise(None), step)
        iterates.append(state.trajectory.weights)
    return method.finish(problem, state, hparams), torch.stack(iterates).numpy(), phases


def test_the_em_posterior_has_the_mean_and_covariance_of_every_iterate_since_burn_in(problem, hparams, batches):
    posterior, iterates, _ = trained(OnlineEM(), problem, hparams, batches, Plan(1200, 3.0))
    used = iterates[600:]
    covariance = np.cov(used.T, bias=True)
    np.testing.assert_allclose(posterior.mean.numpy(), used.mean(0), rtol=1e-8, atol=1e-12)
    assert relative_distance(posterior.covariance().numpy(), covariance) < 0.03  # batch FA 0.007, ours 0.009
    assert relative_distance(np.diag(np.diag(covariance)), covariance) > 0.5


def test_the_sga_posterior_has_variances_of_the_right_size(problem, hparams, batches):
    posterior, iterates, _ = trained(OnlineSGA(5), problem, hparams, batches, Plan(600, 3.0))
    used = iterates[300:]
    np.testing.assert_allclose(posterior.mean.numpy(), used.mean(0), rtol=1e-8, atol=1e-12)
    ratio = posterior.covariance().diag().numpy() / used.var(0)
    assert 0.2 < np.median(ratio) < 5


def test_phases_are_burn_in_then_averages_alone_then_learning():
    def lengths(n_updates: int) -> list[int]:
        phases = [OnlineEM().phase(update, Plan(n_updates, 1.0)) for update in range(1, n_updates + 1)]
        assert phases == sorted(phases, key=["follow", "average", "learn"].index)
        return [phases.count(phase) for phase in ("follow", "average", "learn")]

    assert lengths(1000) == [500, 100, 400]
    assert lengths(100) == [50, 25, 25]
    assert lengths(1) == [0, 0, 1]


def test_the_frame_is_a_weighted_mean_and_variance_in_which_later_iterates_count_more():
    iterates = 3 + numbers(40, 5)
    frame = Frame(iterates[0], torch.zeros(5, dtype=torch.float64))
    for count, theta in enumerate(iterates[1:], start=1):
        frame = frame.follow(theta, torch.tensor(float(count)))
    i = np.arange(1, 41)
    weights, iterates = i * (i + 1) * (i + 2), iterates.numpy()
    mean = np.average(iterates, axis=0, weights=weights)
    np.testing.assert_allclose(frame.origin.numpy(), mean)
    np.testing.assert_allclose(frame.variance.numpy(), np.average((iterates - mean) ** 2, axis=0, weights=weights))


def test_a_distribution_in_the_frame_is_taken_back_exactly():
    frame, inside = Frame(numbers(5), numbers(5, seed=1).exp()), LowRankNormal(*numbers(4, 5).split([1, 2, 1]))
    inside = LowRankNormal(inside.mean[0], inside.factors, inside.variance[0].exp())
    outside, scale = frame.restore(inside), frame.scale()
    torch.testing.assert_close(outside.mean, frame.origin + scale * inside.mean)
    torch.testing.assert_close(outside.covariance(), scale[:, None] * inside.covariance() * scale)


@pytest.mark.parametrize("method", [OnlineEM(), OnlineSGA()], ids=lambda method: method.name)
@pytest.mark.parametrize("n_updates", [1, 2, 3, 5])
def test_the_shortest_trainings_leave_finite_numbers(problem, hparams, batches, method, n_updates):
    posterior, *_ = trained(method, problem, hparams, batches, Plan(n_updates, 1.0))
    assert all(part.isfinite().all() for part in posterior)
    assert (posterior.variance >= 0).all()


def test_a_network_smaller_than_k_has_as_many_factors_as_weights(problem, hparams):
    state = OnlineEM(100).init(problem, hparams, Noise(numbers(problem.dim * (problem.dim + 1))))
    assert state.estimator.factors.shape == (problem.dim, problem.dim)
