"""Sampled truths: right where another way knows the answer, computed once, refused where chains disagree."""

import numpy as np
import pytest
from scipy.special import expit

from lockstep_bench.bench.reference import sampled as module
from lockstep_bench.bench.reference.posterior import grid
from lockstep_bench.bench.reference.problem import Part
from lockstep_bench.bench.reference.sampled import Settings, UnconvergedReference, sampled
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian
from lockstep_bench.methods.mcmc import nuts
from lockstep_bench.methods.networks.mlp import MLP


def silent(fraction: float) -> None:
    pass


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(module.VARIABLE, str(tmp_path / "references"))
    monkeypatch.setattr(module, "LINEAR", Settings(4, 300, 1500))
    monkeypatch.setattr(module, "NETWORK", Settings(2, 10, 2000))


def part(seed: int = 0) -> Part:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((40, 2))
    y = (generator.uniform(size=40) < expit(x @ [1.5, -1.0])).astype(float)
    return Part(x, y, MLP(2, hidden=(), bias=False), Bernoulli(), 0.5, None, 1.0)


def network_part() -> Part:
    x = np.linspace(-1, 1, 10)[:, None]
    return Part(x, x[:, 0], MLP(1, hidden=(3,)), Gaussian((1.0, 1.0)), 1.0, 1.0, 1.0)


class Chains:
    """Stub of `nuts.sample`: normal weights, with a distance of `apart` between the first chain and the others."""

    def __init__(self, monkeypatch, apart: float = 0.0):
        self.calls, self.apart = 0, apart
        monkeypatch.setattr(nuts, "sample", self)

    def __call__(self, network, *_, chains, draws, **__):
        self.calls += 1
        weights = np.random.default_rng(0).standard_normal((chains, draws, network.dim))
        weights[0] += self.apart
        flags = np.zeros((chains, draws), dtype=bool)
        return nuts.Draws(weights, flags, 0.8 + flags, 7 + flags, max_tree_depth=10, seconds=1.5)


@pytest.mark.slow
def test_nuts_agrees_with_grid_on_logistic_regression():
    pytest.importorskip("numpyro")
    ours = part()
    exactly, found = grid(ours, 0), sampled(ours, "any", 0, ours.x[:0], silent)
    assert found.kind == "nuts"
    assert found.facts["r_hat"] < 1.01
    errors = np.sqrt(np.diag(exactly.covariance) / found.facts["effective_samples"])
    assert np.all(np.abs(found.mean - exactly.mean) < 4 * errors)
    spread = 6 / np.sqrt(found.facts["effective_samples"])
    np.testing.assert_allclose(found.covariance, exactly.covariance, atol=spread * exactly.covariance.max())


def test_sampled_posterior_is_computed_once_and_cached(monkeypatch):
    chains = Chains(monkeypatch)
    first, second = (sampled(part(), "any", 0, np.empty((0, 2)), silent) for _ in range(2))
    assert chains.calls == 1
    np.testing.assert_array_equal(first.draws, second.draws)
    np.testing.assert_array_equal(first.covariance, second.covariance)
    assert first.facts == second.facts
    names = {"chains", "warmup", "draws", "r_hat", "effective_samples", "divergences", "saturated", "rel_cov_noise"}
    assert names <= set(first.facts)


def test_cached_posterior_depends_on_data_prior_and_seed(monkeypatch):
    chains = Chains(monkeypatch)
    none = np.empty((0, 2))
    for one, seed in ((part(), 0), (part(1), 0), (part()._replace(prior_precision=0.6), 0), (part(), 1)):
        sampled(one, "any", seed, none, silent)
    assert chains.calls == 4


def test_unconverged_chains_raise_without_sampling_again(monkeypatch):
    chains = Chains(monkeypatch, apart=2.0)
    for _ in range(2):
        with pytest.raises(
            UnconvergedReference,
            match=r"the reference posterior of any cannot be used: R-hat is 1\.[0-9]+, and must be below 1\.01",
        ):
            sampled(part(), "any", 0, np.empty((0, 2)), silent)
    assert chains.calls == 1


def test_network_chains_may_differ_by_permuted_weights(monkeypatch):
    """Swapping two hidden units is another mode of the weights and no other function."""
    ours = network_part()

    class Permuted(Chains):
        def __call__(self, network, *arguments, **others):
            found = super().__call__(network, *arguments, **others)
            weights = np.ones_like(found.weights) + 0.1 * np.random.default_rng(1).standard_normal(found.weights.shape)
            weights[0, ..., 0] += 4
            weights[1, ..., 1] += 4
            return nuts.Draws(weights, found.diverging, found.accept_prob, found.steps, 10, 1.0)

    Permuted(monkeypatch)
    truth = sampled(ours, "any", 0, np.linspace(-2, 2, 5)[:, None], silent)
    assert truth.facts["r_hat"] < module.MAX_R_HAT
    assert nuts.r_hat(truth.draws.reshape(2, -1, ours.network.dim))[:2].min() > 1.5
