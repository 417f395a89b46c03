"""NUTS against exact posteriors, and its density in JAX against the one in torch."""

import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.maths.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    StudentTNoise,
)
from lockstep_bench.methods.mcmc import nuts
from lockstep_bench.methods.networks.mlp import MLP

LIKELIHOODS = [
    Gaussian((0.01, 1.0)),
    HeteroscedasticGaussian(),
    Bernoulli(),
    Categorical(3),
    StudentTNoise((0.01, 1.0)),
]
NETWORKS = [
    {"hidden": (4,), "activation": "relu"},
    {"hidden": (4, 5), "activation": "softplus"},
    {"hidden": (4,), "activation": "tanh", "bias": False},
    {"hidden": ()},
    {"hidden": (4,), "activation": "tanh"},
]
DF = 4.5


@pytest.fixture
def jax_part():
    return pytest.importorskip("lockstep_bench.methods.mcmc.nuts_jax", exc_type=ImportError)


def torch_log_joint(network, likelihood, x, y, alpha, beta, y_scale):
    """log p(y | x, w) + log N(w; 0, I / alpha) by the project's own torch code and torch's own normal density."""

    def log_joint(weights):
        hparams = SimpleNamespace(noise_precision=torch.tensor(beta), noise_df=torch.tensor(DF))
        nll = likelihood.nll(network(weights, torch.tensor(x)), torch.tensor(y), hparams, torch.tensor(y_scale))
        return torch.distributions.Normal(0, torch.tensor(alpha**-0.5)).log_prob(weights).sum() - nll.sum()

    return log_joint


@pytest.fixture(autouse=True)
def _float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("likelihood", "shape"), list(zip(LIKELIHOODS, NETWORKS, strict=True)))
def test_jax_log_density_and_gradient_equal_torch(jax_part, likelihood, shape):
    import jax

    generator = np.random.default_rng(0)
    network = MLP(3, n_outputs=likelihood.n_outputs, **shape)
    x, y = generator.standard_normal((9, 3)), np.arange(9.0) % max(2, likelihood.n_outputs)
    weights = torch.tensor(generator.standard_normal(network.dim), requires_grad=True)
    alpha, beta, y_scale = 0.7, 0.3, 3.0
    expected = torch_log_joint(network, likelihood, x, y, alpha, beta, y_scale)(weights)
    expected.backward()
    with jax_part.float64_on_the_cpu():
        posterior = jax_part.JaxPosterior(*nuts._padded(x, y), alpha, beta * y_scale**2, DF)
        density = jax.jit(jax.value_and_grad(partial(jax_part.log_joint, network, likelihood.kind)))
        value, gradient = density(weights.detach().numpy(), posterior)
    np.testing.assert_allclose(value, expected.detach(), rtol=1e-9 if likelihood.kind == "student-t" else 1e-10)
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


def test_nuts_draws_match_a_conjugate_posterior(linear):
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


def test_nuts_draws_have_shapes_diagnostics_and_progress(linear):
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


def test_same_seed_gives_same_nuts_draws():
    pytest.importorskip("numpyro")
    one, same, other = (tiny(seed) for seed in (2**40, 2**40, 3))
    np.testing.assert_array_equal(one.weights, same.weights)
    assert (one.weights != other.weights).any(axis=(0, 1)).all()
    assert (one.weights[0] != one.weights[1]).any(axis=0).all()


def test_permutation_modes_differ_in_weights_not_predictions():
    """Two hidden units that swap places are one function."""
    pytest.importorskip("numpyro")
    straight = tiny(0).weights[[0, 0]]
    swapped = straight.copy()
    swapped[1] = swapped[1][:, [1, 0, 3, 2, 5, 4, 6]]
    predict = torch.func.vmap(torch.func.vmap(TINY, (0, None)), (0, None))
    of_straight, of_swapped = (predict(torch.tensor(one), torch.tensor(X)).numpy() for one in (straight, swapped))
    assert nuts.r_hat(swapped).max() > 1.5
    np.testing.assert_allclose(nuts.r_hat(of_swapped), nuts.r_hat(of_straight))


def test_saturation_is_fraction_of_trees_at_maximum_depth():
    steps = np.array([[1, 3, 7, 7]])
    draws = nuts.Draws(np.zeros((1, 4, 2)), steps > 7, steps / 7, steps, max_tree_depth=3, seconds=0.0)
    assert draws.saturated == 0.5


def test_nuts_sampling_leaves_jax_precision_setting_unchanged():
    jax = pytest.importorskip("jax")
    pytest.importorskip("numpyro")
    tiny(1)
    assert jax.numpy.ones(1).dtype == np.float32


def test_missing_extra_error_names_the_install_command(monkeypatch):
    monkeypatch.delattr("lockstep_bench.methods.mcmc.nuts_jax", raising=False)
    monkeypatch.delitem(sys.modules, "lockstep_bench.methods.mcmc.nuts_jax", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(nuts.MissingExtra, match=r"pip install 'lockstep-bench\[reference\]'"):
        tiny(0)
