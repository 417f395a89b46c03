"""SWA and SWAG against NumPy's moments of the recorded iterates and the paper's formulas, dense."""

import numpy as np
import pytest
import torch

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Batch, Step
from lockstep_bench.methods.swag import RANK, SWA, SWAG, Collected, Collection, LastIterate


def trained(method, problem, batches, plan):
    """The posterior, and the iterates that were due to be collected, (T, D)."""
    generator = torch.Generator().manual_seed(1)
    state = method.init(problem, Noise(torch.randn(problem.dim, generator=generator, dtype=torch.float64)))
    batch, iterates = batches(plan.n_updates), []
    for number in range(plan.n_updates):
        step = Step(torch.tensor(number + 1.0, dtype=torch.float64), method.phase(number + 1, plan))
        state, _ = method.update(problem, state, Batch(batch.x[[number]], batch.y[[number]]), Noise(None), step)
        if step.phase.takes_iterate:
            iterates.append(state.trajectory.weights.numpy())
    return method.finish(problem, state), np.stack(iterates)


def last_deviations(iterates: np.ndarray) -> np.ndarray:
    """Each of the last K iterates less the mean of all up to it, (K, D)."""
    means = np.cumsum(iterates, axis=0) / np.arange(1, len(iterates) + 1)[:, None]
    return (iterates - means)[-RANK:]


def covariance_of_samples(posterior) -> np.ndarray:
    """Exact: sampling takes standard normal noise to deviations from the mean by a linear map."""
    k, d = posterior.factors.shape
    basis = torch.eye(k + d, dtype=torch.float64)
    root = (posterior.transform(basis[:, :k], basis[:, k:]) - posterior.mean).numpy()
    return root.T @ root


# 10 updates collect 5 iterates, fewer than K; 80 updates collect 40, of which the last 20 give deviations.
@pytest.mark.parametrize(("n_updates", "collected"), [(10, 5), (80, 40)], ids=["fewer than K", "more than K"])
def test_swag_samples_have_the_mean_and_covariance_of_the_paper(problem, batches, n_updates, collected):
    posterior, iterates = trained(SWAG(), problem, batches, Plan(n_updates, 1.0))
    deviations = last_deviations(iterates)
    assert len(iterates) == collected
    np.testing.assert_allclose(posterior.mean.numpy(), iterates.mean(0))
    expected = np.diag(iterates.var(0)) / 2 + deviations.T @ deviations / (2 * (len(deviations) - 1))
    np.testing.assert_allclose(covariance_of_samples(posterior), expected, rtol=1e-9, atol=1e-15)


def test_diagonal_swag_has_the_full_variance(problem, batches):
    posterior, iterates = trained(SWAG(rank=0, scale=1.0), problem, batches, Plan(40, 1.0))
    np.testing.assert_allclose(covariance_of_samples(posterior), np.diag(iterates.var(0)), rtol=1e-9, atol=1e-15)


def test_swa_predicts_with_the_averaged_iterate(problem, batches):
    posterior, iterates = trained(SWA(), problem, batches, Plan(40, 1.0))
    np.testing.assert_allclose(SWA().sample(problem, posterior, Noise(None), 30).numpy(), iterates.mean(0)[None])


def test_sgd_predicts_with_the_last_iterate(problem, batches):
    posterior, iterates = trained(LastIterate(), problem, batches, Plan(40, 1.0))
    assert torch.equal(posterior, torch.tensor(iterates[-1]))


def test_learning_rate_moves_linearly_to_final_value(problem):
    method, plan = SWA(burn_in=0.2, late_rate=0.1), Plan(500, 10.0)
    rates = {
        n: float(method.rate(problem, Step(torch.tensor(float(n)), method.phase(n, plan))) / problem.hparams.lr)
        for n in (1, 50, 70, 90, 101, 500)
    }
    assert rates == pytest.approx({1: 1, 50: 1, 70: 0.55, 90: 0.1, 101: 0.1, 500: 0.1})


def test_burn_in_is_a_fraction_of_training():
    method, plan = SWAG(burn_in=0.2), Plan(500, 1.0)
    assert [n for n in range(1, 501) if method.phase(n, plan).takes_iterate] == list(range(101, 501))
    assert method.phase(7, plan) == Collection(takes_iterate=False, burn_in=100)


def test_deviations_keep_their_order_with_zero_padding():
    iterates = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    collected = Collected.init(iterates[0], rank=5)
    for theta in iterates:
        collected = collected.add(theta)
    assert collected.n_seen == 3
    deviations = torch.stack(collected.deviations)
    assert deviations[:2].abs().max() == 0
    np.testing.assert_allclose(deviations[2:].numpy(), last_deviations(iterates.numpy()), atol=1e-15)


def test_single_iterate_gives_a_point_mass():
    posterior = Collected.init(torch.ones(3), rank=4).add(torch.full((3,), 2.0)).normal(0.5)
    assert torch.equal(posterior.mean, torch.full((3,), 2.0))
    assert posterior.factors.abs().max() == 0
    torch.testing.assert_close(posterior.variance, torch.full((3,), 0.5e-30))


def test_float32_variance_of_iterates_is_accurate():
    """Standard deviations of 1e-4 round weights of 1, whose squares single precision knows to 1e-7 only."""
    iterates = 1 + 1e-4 * torch.randn(200, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    collected = Collected.init(torch.zeros(50), rank=0)
    for theta in iterates.float():
        collected = collected.add(theta)
    np.testing.assert_allclose(collected.variance.numpy(), iterates.numpy().var(0), rtol=0.01)


@pytest.mark.parametrize(
    ("plan", "collected"),
    [
        (Plan(240, 2.0), range(122, 241, 2)),  # once per epoch
        (Plan(240, 0.25), range(121, 241)),  # an epoch is less than an update
        (Plan(200, 1000.0), range(105, 201, 5)),  # a fifth of an epoch in all: K iterates none the less
        (Plan(24, 6.0), range(13, 25)),  # as many as there are
        (Plan(1, 6.0), range(1, 2)),
    ],
)
def test_iterates_are_collected_once_per_epoch_or_more_often(plan, collected):
    assert [n for n in range(1, plan.n_updates + 1) if SWAG().phase(n, plan).takes_iterate] == list(collected)
