"""NUTS against exact posteriors, its density against the torch one, its diagnostics against ArviZ and closed forms."""

import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bench.reference.conjugate import correlated
from methods.maths.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian
from methods.mcmc import nuts
from methods.networks.mlp import MLP

LIKELIHOODS = [Gaussian((0.01, 1.0)), HeteroscedasticGaussian(), Bernoulli(), Categorical(3)]
NETWORKS = [
    {"hidden": (4,), "activation": "relu"},
    {"hidden": (4, 5), "activation": "softplus"},
    {"hidden": (4,), "activation": "tanh", "bias": False},
    {"hidden": ()},
]


@pytest.fixture
def jax_part():
    return pytest.importorskip("methods.mcmc.nuts_jax", exc_type=ImportError)


def torch_log_joint(network, likelihood, x, y, alpha, beta, y_scale):
    """log p(y | x, w) + log N(w; 0, I / alpha) by the project's own torch code and torch's own normal density."""

    def log_joint(weights):
        hparams = SimpleNamespace(noise_precision=torch.tensor(beta))
        nll = likelihood.nll(network(weights, torch.tensor(x)), torch.tensor(y), hparams, torch.tensor(y_scale))
        return torch.distributions.Normal(0, torch.tensor(alpha**-0.5)).log_prob(weights).sum() - nll.sum()

    return log_joint


@pytest.fixture(autouse=True)
def _float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("likelihood", "shape"), list(zip(LIKELIHOODS, NETWORKS, strict=True)))
def test_the_density_and_its_gradient_are_torchs(jax_part, likelihood, shape):
    import jax

    generator = np.random.default_rng(0)
    network = MLP(3, n_outputs=likelihood.n_outputs, **shape)
    x, y = generator.standard_normal((9, 3)), np.arange(9.0) % max(2, likelihood.n_outputs)
    weights = torch.tensor(generator.standard_normal(network.dim), requires_grad=True)
    alpha, beta, y_scale = 0.7, 0.3, 3.0
    expected = torch_log_joint(network, likelihood, x, y, alpha, beta, y_scale)(weights)
    expected.backward()
    with jax_part.float64_on_the_cpu():
        of = jax_part.Posterior(*nuts._filled_up(x, y), alpha, beta * y_scale**2)
        density = jax.jit(jax.value_and_grad(partial(jax_part.log_joint, network, likelihood.kind)))
        value, gradient = density(weights.detach().numpy(), of)
    np.testing.assert_allclose(value, expected.detach(), rtol=1e-10)
    np.testing.assert_allclose(gradient, weights.grad, rtol=1e-10, atol=1e-10)


@pytest.fixture(scope="module")
def linear():
    """A linear model, draws from its posterior, and the posterior itself."""
    pytest.importorskip("numpyro")
    problem = correlated(seed=1, n_rows=200, alpha=2.0, beta=0.5)
    y_scale = 4.0  # the engine's: the model is of y / 4
    reported = []
    draws = nuts.sample(
        MLP(2, hidden=(), bias=False),
        LIKELIHOODS[0],
        problem.x,
        problem.y / y_scale,
        problem.alpha * y_scale**2,
        problem.beta,
        y_scale,
        chains=4,
        warmup=300,
        draws=1000,
        seed=7,
        progress=reported.append,
    )
    return y_scale * draws.weights, draws, problem.posterior(), reported


def test_draws_have_the_mean_and_covariance_of_a_conjugate_posterior(linear):
    weights, draws, exact, _ = linear
    flat, size = weights.reshape(-1, 2), draws.effective_sample_size.min()
    sd = np.sqrt(np.diag(exact.covariance))
    # Four standard errors: of a mean sd / sqrt(ESS), of a covariance of normals sqrt((C_ii C_jj + C_ij^2) / ESS).
    assert (np.abs(flat.mean(axis=0) - exact.mean) < 4 * sd / np.sqrt(size)).all()
    squares = (flat - exact.mean) ** 2
    size = nuts.effective_sample_size((weights - exact.mean) ** 2).min()
    error = np.sqrt((np.outer(sd, sd) ** 2 + exact.covariance**2) / size)
    assert (np.abs((flat - exact.mean).T @ (flat - exact.mean) / len(squares) - exact.covariance) < 4 * error).all()
    assert size > 400  # or those bounds would say nothing


def test_draws_say_how_the_chains_went(linear):
    weights, draws, _, reported = linear
    assert weights.shape == (4, 1000, 2)
    assert weights.dtype == np.float64
    assert draws.r_hat.max() < 1.01
    assert draws.divergences == 0
    assert draws.saturated == 0
    assert 0.7 < draws.accept_prob.mean() < 0.95
    assert draws.seconds > 0
    assert reported == sorted(reported)
    assert (len(reported), reported[-1]) == (4 * 1300, 1.0)


X = np.linspace(-2, 2, 20)[:, None]
TINY = MLP(1, (2,))


def tiny(seed: int) -> nuts.Draws:
    """Two short chains of a network of two hidden units, fitted to a sine."""
    lengths = {"chains": 2, "warmup": 100, "draws": 100}
    return nuts.sample(TINY, LIKELIHOODS[0], X, np.sin(X[:, 0]), 1.0, 10.0, 1.0, seed=seed, **lengths)


def test_the_same_seed_gives_the_same_draws():
    pytest.importorskip("numpyro")
    one, same, other = (tiny(seed) for seed in (2**40, 2**40, 3))
    np.testing.assert_array_equal(one.weights, same.weights)
    assert (one.weights != other.weights).any(axis=(0, 1)).all()
    assert (one.weights[0] != one.weights[1]).any(axis=0).all()


def test_chains_in_two_modes_of_a_network_differ_in_their_weights_and_not_in_their_predictions():
    """Two hidden units that swap places are one function."""
    pytest.importorskip("numpyro")
    straight = tiny(0).weights[[0, 0]]
    swapped = straight.copy()
    swapped[1] = swapped[1][:, [1, 0, 3, 2, 5, 4, 6]]
    predict = torch.func.vmap(torch.func.vmap(TINY, (0, None)), (0, None))
    of_straight, of_swapped = (predict(torch.tensor(one), torch.tensor(X)).numpy() for one in (straight, swapped))
    assert nuts.r_hat(swapped).max() > 1.5
    np.testing.assert_allclose(nuts.r_hat(of_swapped), nuts.r_hat(of_straight))


def test_trajectories_cut_short_are_told():
    steps = np.array([[1, 3, 7, 7]])
    draws = nuts.Draws(np.zeros((1, 4, 2)), steps > 7, steps / 7, steps, max_tree_depth=3, seconds=0.0)
    assert draws.saturated == 0.5


def test_jax_keeps_its_own_precision_elsewhere():
    jax = pytest.importorskip("jax")
    pytest.importorskip("numpyro")
    tiny(1)
    assert jax.numpy.ones(1).dtype == np.float32


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delattr("methods.mcmc.nuts_jax", raising=False)
    monkeypatch.delitem(sys.modules, "methods.mcmc.nuts_jax", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(nuts.MissingExtra, match=r"pip install 'lockstep-bench\[reference\]'"):
        tiny(0)


def ar1(coefficient: float, chains: int, draws: int, seed: int = 0) -> np.ndarray:
    """Stationary first-order autoregressions (chains, draws) of unit innovations."""
    innovations = np.random.default_rng(seed).standard_normal((chains, draws))
    values = innovations / np.where(np.arange(draws) == 0, np.sqrt(1 - coefficient**2), 1)
    for draw in range(1, draws):
        values[:, draw] += coefficient * values[:, draw - 1]
    return values


@pytest.mark.parametrize(
    ("coefficient", "chains", "draws", "r_hat", "size"),
    [
        (0.0, 4, 100, 1.0016925691, 419.1501),
        (0.7, 4, 301, 1.0192548489, 203.6783),
        (-0.4, 2, 200, 0.9998126934, 1040.8240),
    ],
)
def test_diagnostics_agree_with_arviz(coefficient, chains, draws, r_hat, size):
    """Expected: arviz-stats 0.8.0, array_stats.rhat(method="rank") and .ess(method="bulk"), of the same numbers."""
    values = ar1(coefficient, chains, draws)
    assert nuts.r_hat(values) == pytest.approx(r_hat, abs=1e-9)
    # ArviZ adds one more term of the series where the sum of autocorrelations ends.
    assert nuts.effective_sample_size(values) == pytest.approx(size, rel=0.01)


@pytest.mark.parametrize("coefficient", [-0.5, 0.0, 0.5, 0.9])
def test_the_effective_sample_size_of_an_autoregression(coefficient):
    """S (1 - c) / (1 + c), the exact one of its mean, within four standard errors of 20 repeats and 3% of bias."""
    many = np.stack([ar1(coefficient, 4, 2000, seed) for seed in range(20)], axis=-1)
    found = nuts.effective_sample_size(many) / 8000
    exact = (1 - coefficient) / (1 + coefficient)
    assert found.shape == (20,)
    assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(20) + 0.03 * exact


def test_r_hat_tells_of_chains_in_different_modes_of_different_spread_and_adrift():
    values = np.random.default_rng(1).standard_normal((2, 1000))
    apart = values + np.array([[0], [5]])
    assert nuts.r_hat(values) < 1.01
    assert nuts.r_hat(apart) > 1.5
    assert nuts.effective_sample_size(apart) < 10
    assert nuts.r_hat(values * np.array([[1], [5]])) > 1.1
    assert nuts.r_hat(np.sort(values)) > 1.5


def test_chains_too_short_to_be_judged_are_refused():
    with pytest.raises(ValueError, match="chains of 3 draws cannot be judged; at least 4 are needed"):
        nuts.r_hat(np.zeros((2, 3)))
