"""Online factor analysis of SGD iterates against the iterates' own covariance."""

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from lockstep_bench.bench.reference.distances import relative_distance
from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.factor_analysis import GRADIENT_LR, ExpectationMaximisation
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.online_fa import LARGEST_UNIT, MIN_SHARE, OnlineEM, OnlineSGA, PlainOnlineFactorAnalysis
from lockstep_bench.methods.problem import Batch, Step


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def trained(method, problem, batches, plan: Plan):
    """The posterior, and all iterates with their phases."""
    state = method.init(problem, Noise(numbers(20 * problem.dim)))
    batch, iterates, phases = batches(plan.n_updates), [], []
    for number in range(plan.n_updates):
        phases.append(method.phase(number + 1, plan))
        step = Step(torch.tensor(number + 1.0, dtype=torch.float64), phases[-1])
        state, _ = method.update(problem, state, Batch(batch.x[[number]], batch.y[[number]]), Noise(None), step)
        iterates.append(state.trajectory.weights)
    return method.finish(problem, state), torch.stack(iterates).numpy(), phases


def test_em_posterior_matches_moments_of_iterates(problem, hparams, batches):
    posterior, iterates, _ = trained(OnlineEM(), problem, batches, Plan(1200, 3.0))
    used = iterates[600:]
    covariance = np.cov(used.T, bias=True)
    np.testing.assert_allclose(posterior.mean.numpy(), used.mean(0), rtol=1e-8, atol=1e-12)
    assert relative_distance(posterior.covariance().numpy(), covariance) < 0.03  # batch FA 0.007, ours 0.009
    assert relative_distance(np.diag(np.diag(covariance)), covariance) > 0.5


def test_sga_posterior_misses_the_iterates_covariance(problem, hparams, batches):
    posterior, iterates, _ = trained(OnlineSGA(5), problem, batches, Plan(1200, 3.0))
    used = iterates[600:]
    np.testing.assert_allclose(posterior.mean.numpy(), used.mean(0), rtol=1e-8, atol=1e-12)
    # Regression test: numbers of this run, in float64. 500 steps of ascent are too few.
    distance = relative_distance(posterior.covariance().numpy(), np.cov(used.T, bias=True))
    assert distance == pytest.approx(0.646, abs=0.005)
    assert np.median(posterior.covariance().diag().numpy() / used.var(0)) == pytest.approx(0.581, abs=0.005)


@pytest.mark.parametrize(("algorithm", "distance"), [("em", 0.776), ("sga", 7.850)])
def test_plain_online_fa_misses_covariance_on_short_trajectories(problem, hparams, batches, algorithm, distance):
    # Regression test: numbers of these runs, in float64. tests/methods/maths has the algorithms against exact ones.
    posterior, iterates, _ = trained(PlainOnlineFactorAnalysis(5, algorithm), problem, batches, Plan(1200, 3.0))
    covariance = np.cov(iterates[600:].T, bias=True)
    assert relative_distance(posterior.covariance().numpy(), covariance) == pytest.approx(distance, rel=0.005)


def test_sga_update_is_a_preconditioned_gradient_step(problem, hparams, batches):
    method = OnlineSGA(3)
    state = method.init(problem, Noise(numbers(20 * problem.dim)))
    factors, log_variance = 0.3 * numbers(3, problem.dim, seed=1), numbers(problem.dim, seed=2)
    state = state._replace(estimator=state.estimator._replace(factors=factors, log_variance=log_variance))
    batch, noise, step = batches(1), Noise(None), Step(torch.tensor(1.0, dtype=torch.float64), "learn")
    after, _ = method.update(problem, state, batch, noise, step)
    deviation = after.trajectory.weights - after.estimator.mean
    slopes = torch.func.grad(log_density, argnums=(0, 1))(factors.T, log_variance, deviation)
    variance = log_variance.exp()
    square_unit = torch.minimum(variance + factors.square().sum(0), LARGEST_UNIT * variance)
    torch.testing.assert_close(after.estimator.factors, factors + GRADIENT_LR * square_unit * slopes[0].T)
    torch.testing.assert_close(after.estimator.log_variance, log_variance + GRADIENT_LR * slopes[1])


def test_phases_are_burn_in_averaging_and_learning():
    def lengths(method, n_updates: int) -> list[int]:
        phases = [method.phase(update, Plan(n_updates, 1.0)) for update in range(1, n_updates + 1)]
        assert phases == sorted(phases, key=["follow", "average", "learn"].index)
        return [phases.count(phase) for phase in ("follow", "average", "learn")]

    # EM learns at the beginning of the update after.
    assert (lengths(OnlineSGA(), 1000), lengths(OnlineEM(), 1000)) == ([500, 100, 400], [500, 101, 399])
    assert (lengths(OnlineSGA(), 100), lengths(OnlineEM(), 100)) == ([50, 25, 25], [50, 26, 24])
    assert (lengths(OnlineSGA(), 1), lengths(OnlineEM(), 1)) == ([0, 1, 0], [0, 1, 0])


def log_density(factors: torch.Tensor, log_variance: torch.Tensor, deviation: torch.Tensor) -> torch.Tensor:
    covariance = factors @ factors.T + log_variance.exp().diag()
    return MultivariateNormal(torch.zeros_like(deviation), covariance).log_prob(deviation)


def after_algorithm(algorithm: str, iterates: np.ndarray, factors: np.ndarray, warm_up: int) -> tuple[np.ndarray, ...]:
    """Mean, F F^T + diag(psi) after the thesis's Algorithm 1 or 2 by dense algebra, in the letters of its listings."""
    (d, k), f = factors.shape, factors
    psi, mean, b, a, d2 = np.ones(d), np.zeros(d), np.zeros((k, k)), np.zeros((d, k)), np.zeros(d)
    for t, theta in enumerate(iterates, 1):
        mean = mean + (theta - mean) / t  # without the misprint of line 5
        dt = theta - mean
        c = (f / psi[:, None]).T
        sigma = np.linalg.inv(np.eye(k) + c @ f)
        m = sigma @ c @ dt
        if algorithm == "em":
            b, a, d2 = b + (np.outer(m, m) - b) / t, a + (np.outer(dt, m) - a) / t, d2 + (dt**2 - d2) / t
            h = sigma + b
            if t > warm_up:
                f = a @ np.linalg.inv(h)
                psi = d2 + ((f @ h) * f - 2 * f * a).sum(1)
        elif t > warm_up:
            arguments = torch.tensor(f), torch.tensor(psi).log(), torch.tensor(dt)
            slopes = torch.func.grad(log_density, argnums=(0, 1))(*arguments)
            f, psi = f + 1e-3 * slopes[0].numpy(), psi * np.exp(1e-3 * slopes[1].numpy())
    return mean, f @ f.T + np.diag(psi)


@pytest.mark.parametrize("algorithm", ["em", "sga"])
def test_plain_online_fa_equals_the_thesis_algorithms(problem, hparams, batches, algorithm):
    method = PlainOnlineFactorAnalysis(3, algorithm)
    posterior, iterates, phases = trained(method, problem, batches, Plan(120, 3.0))
    assert (phases.index("average"), phases.index("learn")) == (60, 90)
    factors = method.init(problem, Noise(numbers(20 * problem.dim))).estimator.factors.T.numpy()
    np.testing.assert_allclose(factors.T @ factors, np.eye(3), atol=1e-12)
    mean, covariance = after_algorithm(algorithm, iterates[60:], factors, 30)
    np.testing.assert_allclose(posterior.mean.numpy(), mean)
    np.testing.assert_allclose(posterior.covariance().numpy(), covariance, rtol=1e-6, atol=1e-9)


def followed(method, problem, batches, length: int, of: int | None = None):
    """The state after only a burn-in, on the first `length` of `of` minibatches, and the weights before and after."""
    state = method.init(problem, Noise(numbers(20 * problem.dim)))
    batch, weights = batches(of or length), [state.trajectory.weights]
    for number in range(length):
        step = Step(torch.tensor(number + 1.0, dtype=torch.float64), "follow")
        state, _ = method.update(problem, state, Batch(batch.x[[number]], batch.y[[number]]), Noise(None), step)
        weights.append(state.trajectory.weights)
    return state, torch.stack(weights).numpy()


def late_moments(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each weight in which later iterates count more, the i-th i (i + 1) (i + 2) times."""
    i = np.arange(1, len(weights) + 1)
    counts = i * (i + 1) * (i + 2)
    mean = np.average(weights, axis=0, weights=counts)
    return mean, np.average((weights - mean) ** 2, axis=0, weights=counts)


def test_em_starts_at_the_pooled_weight_variance(problem, hparams, batches):
    state, weights = followed(OnlineEM(4), problem, batches, 40)
    mean, variance = late_moments(weights)
    np.testing.assert_allclose(state.averages.mean.numpy(), mean)
    np.testing.assert_allclose(state.variance, variance.mean())


def test_em_equals_algorithm_2_without_extra_copy(problem, hparams, batches):
    method, plan = OnlineEM(3), Plan(60, 3.0)
    posterior, iterates, _ = trained(method, problem, batches, plan)
    state, weights = followed(method, problem, batches, 30, of=60)
    np.testing.assert_array_equal(weights[1:], iterates[:30])
    columns = np.eye(3)[np.arange(problem.dim) % 3] * (state.variance.item() * 3 / problem.dim) ** 0.5
    thesis = ExpectationMaximisation.init(problem.dim, 3, Noise(numbers(3 * problem.dim)))
    thesis = thesis._replace(factors=torch.tensor(columns.T), variance=state.variance.expand(problem.dim))
    for number, theta in enumerate(torch.tensor(iterates[30:])):
        thesis = thesis.update(theta, learn=number >= 15)
    torch.testing.assert_close(posterior, thesis.averages.expanded())


def test_gradient_ascent_starts_at_per_weight_variances(problem, hparams, batches):
    state, weights = followed(OnlineSGA(4), problem, batches, 40)
    mean, variance = late_moments(weights)
    assert (variance > MIN_SHARE * variance.mean()).all()
    np.testing.assert_allclose(state.estimator.mean.numpy(), mean)
    np.testing.assert_allclose(state.estimator.log_variance.exp().numpy(), variance)

    factors = state.estimator.factors
    for _ in range(2):  # the second time F stays as it is
        one = Step(torch.tensor(41.0, dtype=torch.float64), "average")
        state, _ = OnlineSGA(4).update(problem, state, batches(1), Noise(None), one)
    torch.testing.assert_close(state.estimator.factors, factors * torch.tensor(variance) ** 0.5)
    assert state.estimator.n_seen == 2


def test_constant_weight_has_a_small_positive_variance(problem, hparams, batches):
    def without_the_first_feature(length: int) -> Batch:
        batch = batches(length)
        return Batch(batch.x * torch.tensor([0.0, 1, 1], dtype=torch.float64), batch.y)

    hparams.prior_precision = torch.tensor(0.0, dtype=torch.float64)
    state, weights = followed(OnlineSGA(4), problem, without_the_first_feature, 5)
    still = (weights == weights[0]).all(0)
    assert 0 < still.sum() < len(still)
    variance = state.estimator.log_variance.exp().numpy()
    np.testing.assert_allclose(variance[still], MIN_SHARE * variance.mean(), rtol=1e-3)


@pytest.mark.parametrize("method", [OnlineEM(), OnlineSGA()], ids=lambda method: method.name)
@pytest.mark.parametrize("n_updates", [1, 2, 3, 5])
def test_shortest_trainings_give_finite_posteriors(problem, hparams, batches, method, n_updates):
    posterior, *_ = trained(method, problem, batches, Plan(n_updates, 1.0))
    assert all(part.isfinite().all() for part in posterior)
    assert (posterior.variance >= 0).all()


def test_number_of_factors_is_at_most_the_weights(problem):
    noise = numbers(problem.dim * (problem.dim + 1))
    assert OnlineEM(100).init(problem, Noise(noise)).averages.cross.shape == (problem.dim, problem.dim)
    assert OnlineSGA(100).init(problem, Noise(noise)).estimator.factors.shape == (problem.dim, problem.dim)
