"""HMC against the conjugate posterior, and what it asks of the sampler and says of its chains."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lockstep_bench.bench.reference.conjugate import correlated
from lockstep_bench.methods.hmc import CHAINS, HMC, KEPT, LEAST_TRANSITIONS, MAX_WEIGHTS, PROXY_DEPTH, TRANSITIONS
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.mcmc import nuts
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import HParams, Problem, Sweep, Task

ONE = torch.tensor(1.0, dtype=torch.float64)


def test_hmc_equals_the_conjugate_linear_posterior():
    pytest.importorskip("numpyro")
    problem = correlated(seed=2, n_rows=100, alpha=5.0, beta=0.5)
    stack = problem.fit(HMC(), lr=0.1, updates=400, batch_size=10)
    exact, samples = problem.posterior(), problem.weight_samples(stack, KEPT)[0]
    sd = np.sqrt(np.diag(exact.covariance))
    # Of outputs, but without a bias those are a basis of the weights.
    size = min(KEPT, stack.diagnostics()[0]["effective_draws"])
    assert size > 200  # or the bounds below, of four standard errors, would say nothing
    assert (np.abs(samples.mean(axis=0) - exact.mean) < 4 * sd / np.sqrt(size)).all()
    error = np.sqrt((np.outer(sd, sd) ** 2 + exact.covariance**2) / size)
    assert (np.abs(np.cov(samples.T) - exact.covariance) < 4 * error).all()


class Sampler:
    """Stub of `nuts.sample`: keeps its arguments, and returns chains that `chain` fills."""

    def __init__(self, monkeypatch, chain=lambda number: 0.0):
        self.asked, self.chain = None, chain
        monkeypatch.setattr(nuts, "sample", self)

    def __call__(self, network, likelihood, x, y, prior_precision, noise_precision, y_scale, **options):
        self.asked = SimpleNamespace(
            x=x, y=y, prior_precision=prior_precision, noise_precision=noise_precision, y_scale=y_scale, **options
        )
        shape = options["chains"], options["draws"]
        normal = np.random.default_rng(0).standard_normal((*shape, network.dim))
        weights = normal + np.array([self.chain(number) for number in range(shape[0])])[:, None, None]
        flags = np.arange(shape[0] * shape[1]).reshape(shape) % 4 == 0
        return nuts.Draws(weights, flags, flags / 1.0, 7 * flags, max_tree_depth=3, seconds=0.0)


def problem_of(likelihood, **hparams: float) -> Problem:
    values = HParams(**{name: ONE * value for name, value in hparams.items()})
    return Problem(MLP(2, hidden=()), likelihood, values, 5 * ONE, 2 * ONE, 3 * ONE)


def posterior_of(problem: Problem, updates: int, tape: float = 0.5, method: HMC | None = None):
    """A fit of `updates` updates whose sweep deals five rows in two parts, with an empty place in each."""
    method = method or HMC()
    state = method.init(problem, Noise(tape * torch.ones(2, dtype=torch.float64)))
    for count in range(1, updates + 1):
        state = method.update(problem, state, None, None, SimpleNamespace(count=ONE * count))
    for numbers in ([0, 1, 2, 99], [3, 4, 99]):
        rows = torch.tensor(numbers, dtype=torch.float64)
        part = Sweep(rows[:, None] + torch.tensor([0.0, 0.5]), 10 * rows, (rows < 99).to(rows))
        state = method.sweep(problem, state, part)
    return method.finish(problem, state)


def test_sampler_gets_every_training_row_once(monkeypatch):
    sampler = Sampler(monkeypatch)
    posterior_of(problem_of(Gaussian((0.01, 1.0)), prior_precision=0.7, noise_precision=0.3), 40)
    np.testing.assert_array_equal(sampler.asked.x, np.arange(5.0)[:, None] + [0.0, 0.5])
    np.testing.assert_array_equal(sampler.asked.y, 10 * np.arange(5.0))
    assert (sampler.asked.prior_precision, sampler.asked.noise_precision, sampler.asked.y_scale) == (0.7, 0.3, 3.0)


def test_classification_passes_no_noise_precision_to_the_sampler(monkeypatch):
    sampler = Sampler(monkeypatch)
    posterior_of(problem_of(Bernoulli(), prior_precision=0.7), 40)
    assert sampler.asked.noise_precision is None


@pytest.mark.parametrize(
    ("updates", "each"),
    [(1, LEAST_TRANSITIONS // 2), (40, 20), (TRANSITIONS, TRANSITIONS // 2), (TRANSITIONS + 50, TRANSITIONS // 2)],
)
def test_each_update_is_one_transition_per_chain(monkeypatch, updates, each):
    sampler = Sampler(monkeypatch)
    posterior_of(problem_of(Bernoulli(), prior_precision=0.7), updates)
    assert (sampler.asked.chains, sampler.asked.warmup, sampler.asked.draws) == (CHAINS, each, each)


def test_tuning_uses_one_chain_of_shorter_trajectories(monkeypatch):
    sampler = Sampler(monkeypatch)
    posterior_of(problem_of(Bernoulli(), prior_precision=0.7), 20, method=HMC().proxy())
    assert (sampler.asked.chains, sampler.asked.max_tree_depth) == (1, PROXY_DEPTH)


def test_different_seeds_give_different_noise(monkeypatch):
    sampler, seeds = Sampler(monkeypatch), []
    for tape in (0.5, 0.5, -0.25):
        posterior_of(problem_of(Bernoulli(), prior_precision=0.7), 20, tape)
        seeds.append(sampler.asked.seed)
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize(("apart", "agree"), [(0.0, True), (5.0, False)])
def test_diagnostics_measure_chain_agreement_at_training_inputs(monkeypatch, apart, agree):
    Sampler(monkeypatch, chain=lambda number: apart * (number == 0))
    problem = problem_of(Bernoulli(), prior_precision=0.7)
    posterior = posterior_of(problem, TRANSITIONS)
    found = {name: one.item() for name, one in HMC().diagnostics(problem, posterior).items()}
    draws = CHAINS * TRANSITIONS // 2
    assert (found["r_hat"] < 1.02) == agree
    assert (found["effective_draws"] > draws / 2) == agree
    assert found["divergences"] == draws // 4
    assert found["cut_short"] == 0.25


def test_samples_are_evenly_spread_over_all_chains(monkeypatch):
    Sampler(monkeypatch, chain=lambda number: 100.0 * number)
    problem = problem_of(Bernoulli(), prior_precision=0.7)
    posterior = posterior_of(problem, TRANSITIONS)
    assert posterior.weights.shape == (min(KEPT, CHAINS * TRANSITIONS // 2), problem.dim)
    samples = HMC().sample(problem, posterior, None, 20)
    np.testing.assert_array_equal(np.round(samples[:, 0].numpy() / 100), np.arange(CHAINS).repeat(20 // CHAINS))
    assert len(samples.unique(dim=0)) == 20
    assert HMC().sample(problem, posterior, None, 10**6) is posterior.weights


@pytest.mark.parametrize("missing", ["jax", "numpyro", "arviz_stats"])
def test_missing_jax_excludes_every_task_with_remedy(monkeypatch, missing):
    monkeypatch.setattr(nuts, "find_spec", lambda name: None if name == missing else name)
    reason = HMC().excludes(Task("small", Bernoulli(), MLP(3)))
    assert reason.endswith("pip install 'lockstep-bench[reference]'")


def test_hmc_excludes_too_large_networks(monkeypatch):
    monkeypatch.setattr(nuts, "is_installed", lambda: True)
    small, large = MLP(3, (50,)), MLP(MAX_WEIGHTS, ())
    assert HMC().excludes(Task("small", Bernoulli(), small)) is None
    assert "1001 weights would take too long; 1000 are allowed" in HMC().excludes(Task("large", Bernoulli(), large))
    assert "a ConvNet would take too long" in HMC().excludes(Task("images", Bernoulli(), ConvNet((1, 8, 8))))
