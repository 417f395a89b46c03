"""Counts and ratios of the benchmark of large networks; speed itself is not tested."""

import pytest
import torch

from benchmarks import large_networks, published_costs
from benchmarks.large_networks import Size, held
from lockstep_bench import methods
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.methods.base import Method, Paper
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.maths.noise import NoiseGauge
from lockstep_bench.methods.networks.resnets import PreActResNet
from lockstep_bench.methods.problem import HParams, Problem, Task
from lockstep_bench.methods.training.optim import Adam, Momentum

CPU = torch.device("cpu")


class Spy(Method):
    """Two phases of 1 and 3 parts of training; an update takes as long as its phase says."""

    name, title, paper = "spy", "Spy", Paper("Somebody 2000", "A Book")
    batches_per_update = 2
    members = 3

    def __init__(self, clock):
        self.clock = clock

    def search_space(self, task):
        return {}

    def phase(self, update, plan):
        return 8.0 if update <= plan.n_updates / 4 else 16.0

    def init(self, problem, noise):
        weights = torch.zeros(problem.dim)
        return weights, Momentum.init(weights)

    def update(self, problem, state, batch, noise, step):
        assert batch.x.shape == (2, 4, 3072)
        self.clock.now += step.phase
        return state


class Clock:
    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def timed(monkeypatch):
    """A scale on which a minibatch of plain SGD takes 4 seconds, by the clock that it comes with."""
    clock = Clock()
    monkeypatch.setattr(large_networks, "time", clock)
    monkeypatch.setattr(large_networks.plain_sgd, "minibatches", lambda *arguments: iter(lambda: 4.0, None))
    return Size("cnn", 4, CPU), clock


def test_cost_ratio_weighs_phases_and_sums_members(timed):
    on, clock = timed
    cost = on.cost(Spy(clock))
    assert cost.ratio == pytest.approx(3 * (8 / 4 + 3 * 16 / 4) / 4 / 2, rel=1e-3)
    assert on.sgd_seconds == 4.0
    assert (cost.method, cost.state, cost.optimiser) == ("spy", 1.0, 1.0)


def test_optimiser_memory_is_counted_separately():
    weights, half = torch.zeros(10), torch.zeros(5, dtype=torch.float64)
    assert held((weights, Adam.init(weights), {"more": half})) == (40 + 40, 80)
    assert held(weights) == (40, 0)


def test_published_cost_ratios_equal_the_published_times():
    times = {("vifa", "SGD"): (463.2, 435.7), ("directuq-mean", "SGD"): (2.18, 1.97), ("mfvi", "SGD"): (8.51, 1.97)}
    times |= {("variational-laplace", "MAP"): (114.9, 41.8), ("mfvi", "MAP"): (43.2, 41.8)}
    found = {(name, one.beside): one.ratio for name, _ in times for one in published_costs.published(name)}
    assert found == {key: pytest.approx(own / plain, abs=0.005) for key, (own, plain) in times.items()}
    assert {name for one in published_costs.PUBLISHED for name in one.methods} <= set(methods.names())


SMALL = Task("small", Categorical(3), PreActResNet((3, 8, 8), 3, widths=(8, 16), blocks=1, norm="group"))


@pytest.mark.parametrize("name", methods.names())
def test_method_state_is_at_most_rank_plus_three_vectors(name):
    method = methods.get(name).suited_to(SMALL)
    if reason := method.excludes(SMALL):
        pytest.skip(reason)
    one = torch.tensor(1.0)
    best = Centred(method.image_space(SMALL)).best()
    hparams = HParams(**{name: value * one for name, value in best.hparams.items()})
    problem = Problem(method.network(SMALL), method.likelihood(SMALL), hparams, 100 * one, 0 * one, one)
    beyond, _ = held(method.init(problem, NoiseGauge(torch.float32)))
    # VIFA, SLANG and online FA; SWAG; SVGD and repulsive ensembles, whose particles are all networks; draws of chains
    ranks = "latent_dim", "rank", "particles", "draws"
    rank = next((getattr(method, name) for name in ranks if hasattr(method, name)), 0)
    if name == "online-em-fa-plain":
        rank = 2 * rank + 1  # Algorithm 2 of the thesis holds F and psi beside the averages that give them
    vectors = beyond / problem.dim / 4
    scalars = 0.1  # counts, and the K x K moments of EM
    state = 5 if method.chains else 3  # SGHMC averages gradients, their squares and the times of both
    assert vectors < rank + state + scalars
