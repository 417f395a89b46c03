"""Online factor analysis against batch factor analysis, dense algebra, autograd and the true covariance."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.decomposition import FactorAnalysis
from torch.distributions import MultivariateNormal
from torch.func import grad

from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.reference.distances import relative_distance
from lockstep_bench.methods.maths.factor_analysis import (
    GRADIENT_LR,
    MIN_VARIANCE_SHARE,
    WARM_UP,
    Averages,
    ExpectationMaximisation,
    GradientAscent,
    log_density_gradients,
)
from lockstep_bench.methods.maths.gaussian import LowRankNormal
from lockstep_bench.methods.maths.noise import Noise

D, K = 7, 3
ESTIMATORS = pytest.mark.parametrize("estimator", [ExpectationMaximisation, GradientAscent], ids=lambda e: e.__name__)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def after(estimator, stream: torch.Tensor, k: int = K, warm_up: int = WARM_UP, seed: int = 1):
    """The estimator's state after a stream (T, D)."""
    dim = stream.shape[1]
    state = estimator.init(dim, k, Noise(numbers(dim * k, seed=seed)))
    for number, theta in enumerate(stream):
        state = state.update(theta, learn=number >= warm_up)
    return state


def running_deviations(stream: torch.Tensor) -> np.ndarray:
    """Each vector less the mean of all up to it."""
    vectors = stream.numpy()
    return vectors - np.cumsum(vectors, axis=0) / np.arange(1, len(vectors) + 1)[:, None]


def e_step(factors: np.ndarray, variance: np.ndarray, deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sigma and the means m of all vectors, by dense inverses (eq. 4.10)."""
    precision = np.diag(1 / variance)
    covariance = np.linalg.inv(np.eye(factors.shape[1]) + factors.T @ precision @ factors)
    return covariance, deviations @ precision @ factors @ covariance


@ESTIMATORS
def test_initial_factors_are_orthonormal_with_unit_variances(estimator):
    normal = estimator.init(D, K, Noise(numbers(D * K))).normal()
    torch.testing.assert_close(normal.factors @ normal.factors.T, torch.eye(K, dtype=torch.float64))
    assert torch.equal(normal.variance, torch.ones(D, dtype=torch.float64))


@ESTIMATORS
def test_warm_up_does_not_change_factors_and_variances(estimator):
    stream = numbers(20, D)
    state, start = after(estimator, stream), estimator.init(D, K, Noise(numbers(D * K, seed=1)))
    assert torch.equal(state.factors, start.factors)
    assert torch.equal(state.normal().variance, start.normal().variance)
    seen = state if estimator is GradientAscent else state.averages
    torch.testing.assert_close(seen.mean, stream.mean(0))
    assert seen.n_seen == 20


def test_running_averages_equal_a_batch_e_step():
    stream = 2 + numbers(50, D)
    state = after(ExpectationMaximisation, stream)
    deviations = running_deviations(stream)
    _, latent = e_step(state.factors.numpy().T, state.variance.numpy(), deviations)
    np.testing.assert_allclose(state.averages.cross.numpy().T, deviations.T @ latent / 50)
    np.testing.assert_allclose(state.averages.latent_square.numpy(), latent.T @ latent / 50)
    np.testing.assert_allclose(state.averages.square.numpy(), (deviations**2).mean(0))


def test_em_step_equals_dense_formulas():
    stream = 2 + numbers(50, D)
    before, state = after(ExpectationMaximisation, stream[:-1]), after(ExpectationMaximisation, stream, warm_up=49)
    deviations = running_deviations(stream)
    covariance, latent = e_step(before.factors.numpy().T, before.variance.numpy(), deviations)
    a, h = deviations.T @ latent / 50, covariance + latent.T @ latent / 50
    factors = a @ np.linalg.inv(h)
    psi = np.diag(deviations.T @ deviations / 50 - 2 * factors @ a.T + factors @ h @ factors.T)
    np.testing.assert_allclose(state.factors.numpy().T, factors)
    np.testing.assert_allclose(state.variance.numpy(), psi)
    normal, expanded = state.normal(), state.averages.expanded()
    np.testing.assert_allclose(normal.covariance().numpy(), factors @ factors.T + np.diag(psi))
    np.testing.assert_allclose(expanded.covariance().numpy(), factors @ h @ factors.T + np.diag(psi))
    np.testing.assert_allclose(expanded.covariance().diag().numpy(), (deviations**2).mean(0))


def test_batch_solution_is_a_fixed_point_of_em():
    stream = model(D, 2, 1, 10, seed=4).draw(2000, seed=5)
    batch = FactorAnalysis(2, svd_method="lapack", tol=1e-12, max_iter=10_000).fit(stream.numpy())
    factors, variance = torch.tensor(batch.components_), torch.tensor(batch.noise_variance_)
    deviations = (stream - stream.mean(0))[:-1]
    latent = torch.tensor(e_step(factors.T.numpy(), variance.numpy(), deviations.numpy())[1])
    averages = Averages(
        n_seen=torch.tensor(1999.0, dtype=torch.float64),
        mean=stream[:-1].mean(0),
        square=deviations.square().mean(0),
        cross=latent.T @ deviations / 1999,
        latent_square=latent.T @ latent / 1999,
        moment=torch.zeros(2, 2, dtype=torch.float64),
    )
    state = ExpectationMaximisation(averages, factors, variance).update(stream[-1])
    torch.testing.assert_close(state.factors, factors, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(state.variance, variance, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(state.averages.moment, torch.eye(2, dtype=torch.float64), rtol=1e-4, atol=1e-4)


def test_em_variances_stay_positive_under_perfect_fit():
    stream = numbers(400, 1) * torch.arange(1.0, D + 1, dtype=torch.float64)
    state = after(ExpectationMaximisation, stream, warm_up=5)
    assert (state.variance >= MIN_VARIANCE_SHARE * state.averages.square).all()
    assert (state.variance > 0).all()
    assert all(part.isfinite().all() for part in tree_leaves(state))


@pytest.mark.parametrize("k", [1, 3])
def test_gradients_equal_autograd_of_log_density(k):
    mean, factors, log_variance, theta = numbers(D), numbers(k, D, seed=1), numbers(D, seed=2), numbers(D, seed=3)

    def log_density(factors, log_variance):
        return MultivariateNormal(mean, factors.T @ factors + log_variance.exp().diag()).log_prob(theta)

    exact = grad(log_density, argnums=(0, 1))(factors, log_variance)
    ours = log_density_gradients(LowRankNormal(mean, factors, log_variance.exp()), theta - mean)
    torch.testing.assert_close(ours, exact)


def test_gradient_step_uses_the_new_mean():
    stream = numbers(30, D)
    before, state = after(GradientAscent, stream[:-1]), after(GradientAscent, stream, warm_up=29)
    deviation = stream[-1] - stream.mean(0)
    in_factors, in_log_variance = log_density_gradients(before.normal(), deviation)
    torch.testing.assert_close(state.factors, before.factors + GRADIENT_LR * in_factors)
    torch.testing.assert_close(state.log_variance, GRADIENT_LR * in_log_variance)


def test_square_unit_argument_makes_gradient_ascent_scale_equivariant():
    unit, stream = numbers(D, seed=3).exp(), numbers(200, D)
    start = GradientAscent.init(D, K, Noise(numbers(D * K)))
    other = GradientAscent(start.n_seen, start.mean, start.factors * unit, start.log_variance + 2 * unit.log())
    for theta in stream:
        start, other = start.update(theta), other.update(theta * unit, square_unit=unit**2)
    torch.testing.assert_close(other.normal().covariance(), unit[:, None] * start.normal().covariance() * unit)


def test_variance_update_stays_bounded_after_an_outlier():
    stream = numbers(30, D)
    stream[20, 2] = 1e6
    state = after(GradientAscent, stream, warm_up=0)
    assert all(part.isfinite().all() for part in state)
    assert 1e11 < state.normal().variance[2] <= 1e12


class Model(SimpleNamespace):
    """A factor analysis model: mean c (D,), factors F (D, K), variance psi (D,)."""

    def covariance(self) -> np.ndarray:
        return self.factors @ self.factors.T + np.diag(self.variance)

    def draw(self, count: int, seed: int) -> torch.Tensor:
        generator = np.random.default_rng(seed)
        latent = generator.standard_normal((count, self.factors.shape[1])) @ self.factors.T
        return torch.tensor(
            self.mean + latent + generator.standard_normal((count, len(self.mean))) * self.variance**0.5
        )


def model(dim: int, k: int, low: float, high: float, seed: int, noise: float = 1.0) -> Model:
    """Algorithm 3 of the thesis, each eigenvector scaled by its own s; `noise` is its variance over the thesis's."""
    generator = np.random.default_rng(seed)
    mean, half = generator.standard_normal(dim), generator.standard_normal((dim, dim))
    square = generator.uniform(low, high, size=k)
    vectors = np.linalg.eigh(half @ half.T)[1][:, -k:]
    variance = noise * generator.uniform(0, square.max(), size=dim)
    return Model(mean=mean, factors=vectors * square**0.5, variance=variance)


@pytest.mark.parametrize("noise", [1 / 3, 1 / 30], ids=["noisy", "clear"])
def test_expanded_em_matches_batch_factor_analysis(noise):
    # Over three models of each kind: batch 0.02 to 0.05, expanded 0.03 to 0.06, without factors 0.6 to 0.9. Algorithm
    # 2's own output, 0.07 to 0.13 on noisy streams, is at 1.0 to 2.5 on clear ones.
    truth = model(20, 2, 1, 10, seed=0, noise=noise)
    stream = truth.draw(4000, seed=50)
    state = after(ExpectationMaximisation, stream, k=2)
    batch, thesis, expanded = (
        relative_distance(covariance, truth.covariance())
        for covariance in (
            FactorAnalysis(2).fit(stream.numpy()).get_covariance(),
            state.normal().covariance().numpy(),
            state.averages.expanded().covariance().numpy(),
        )
    )
    assert expanded < 0.08
    assert expanded < 2 * batch
    assert thesis < 0.2 if noise == 1 / 3 else thesis > 0.5


def test_gradient_ascent_approaches_the_true_covariance():
    # 0.14 to 0.22 over three such models, 0.62 to 0.68 without factors.
    truth = model(20, 2, 1, 10, seed=0, noise=1 / 3)
    stream = truth.draw(4000, seed=50)
    early, late = (after(GradientAscent, stream[:count], k=2).normal().covariance().numpy() for count in (500, 4000))
    assert relative_distance(late, truth.covariance()) < 0.3 < relative_distance(early, truth.covariance())


@pytest.mark.slow
@ESTIMATORS
def test_reproduces_thesis_table_b_1(estimator):
    """D = 100, K = 10, spectrum [1, 10], 100,000 vectors; three models, where the thesis has ten."""
    published, stderr = (0.0399, 0.0058) if estimator is ExpectationMaximisation else (0.0426, 0.0005)
    distances = []
    for seed in range(3):
        truth = model(100, 10, 1, 10, seed)
        state = after(estimator, truth.draw(100_000, seed=seed + 100), k=10, seed=seed)
        distances.append(relative_distance(state.normal().covariance().numpy(), truth.covariance()))
    ours_stderr = np.std(distances, ddof=1) / np.sqrt(3)
    assert abs(np.mean(distances) - published) < 2 * np.hypot(ours_stderr, stderr)
