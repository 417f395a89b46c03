"""Image networks trained through captured graphs: on a CPU, and as on a GPU.

CUDA graphs are replaced by plain calls.
"""

import math

import numpy as np
import pytest
import torch

from lockstep_bench import methods
from lockstep_bench.bench.conformance.examined import middle_of
from lockstep_bench.bench.engine import cuda_loop, graphed_series, sequential_training
from lockstep_bench.bench.engine.augment import crops_and_flips
from lockstep_bench.bench.engine.cuda_loop import GraphedUpdates
from lockstep_bench.bench.engine.minibatches import RowStream, Schedule
from lockstep_bench.bench.engine.native_training import noted_obstacles
from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.engine.rates import cosine
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.bench.native.stages import Stage
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.networks.convnets import ConvNet, LeNet
from lockstep_bench.methods.problem import FULL_LR, Step, Task
from lockstep_bench.shared.seeds import seed_of

IMAGE = (2, 8, 8)
TASK = Task("tiny", Categorical(3), ConvNet(IMAGE, channels=(3,), n_outputs=3))
HPARAMS = {"lr": 0.01, "prior_precision": 2.0}
FITS = [Fit(np.arange(25), HPARAMS, 7), Fit(np.arange(25), HPARAMS | {"lr": 0.02}, 8)]
N_UPDATES = 21


@pytest.fixture(scope="module")
def data() -> Data:
    generator = np.random.default_rng(0)
    return Data.of(generator.integers(0, 256, size=(60, 128), dtype=np.uint8), np.arange(60.0) % 3)


def warmed_up(work):
    """Record as CUDA does: some calls to warm up, none of which is to count."""
    work()
    return work


@pytest.fixture
def on_gpu(monkeypatch):
    """Train as on a GPU; here the device is the CPU, and the graphs are plain calls."""
    monkeypatch.setattr(graphed_series, "has_graphs", lambda device: True)
    monkeypatch.setattr(
        graphed_series, "GraphedUpdates", lambda step, fixed, record: GraphedUpdates(step, fixed, warmed_up)
    )


def train(data, method, fits=FITS, n_updates=N_UPDATES, **options):
    schedule = Schedule.exactly(method, 25, 6, n_updates)
    return train_sequentially(method, TASK, data, fits, schedule, channels=2, dtype=torch.float64, **options)


def leaves(trained):
    return [leaf for leaf in tree_leaves(trained.posteriors) if isinstance(leaf, torch.Tensor)]


def augment(pixels, noise):
    return crops_and_flips(pixels, IMAGE, noise)


def update_by_update(trained, rate=cosine, augment=augment):
    """Return the posteriors of all networks from single updates, with the random numbers of each drawn before it."""
    series, plan, data = trained.series, trained.schedule.plan, trained.series.data
    model, n_minibatches = series.model, series.model.method.batches_per_update
    places = torch.arange(n_minibatches * 6).reshape(n_minibatches, 6)
    posteriors = []
    for number, member in series.members:
        fit, replica = series.fits[number], series.replicas[number]
        stream = RowStream(fit.rows, seed_of(fit.seed, member, "rows"))
        images, noise = (series.noise(fit, member, purpose) for purpose in ("augment", "update"))
        state = model.init(replica, series.noise(fit, member, "init"))
        for update in range(1, plan.n_updates + 1):
            index = torch.tensor(stream.take(places.numel()))
            x = augment(data.x[index], Noise(images.normal(_needed(lambda gauge, i=index: augment(data.x[i], gauge)))))
            scheduled = replica
            if not model.method.constant_rate:
                lr = replica.hparams["lr"]
                scheduled = replica._replace(hparams=replica.hparams | {"lr": lr * rate(update, plan), FULL_LR: lr})
            step = Step(torch.tensor(float(update), dtype=torch.float64), model.method.phase(update, plan))

            def made(noise, x=x, index=index, state=state, step=step, scheduled=scheduled):
                return model.update(scheduled, x, data.y[index], places, state, noise, step)[0]

            state = made(Noise(noise.normal(_needed(made))))
        posteriors.append(model.finish(replica, state))
    return [leaf for leaf in tree_leaves(posteriors) if isinstance(leaf, torch.Tensor)]


def _needed(use):
    gauge = NoiseGauge(torch.float64)
    use(gauge)
    return gauge.used


METHODS = [
    "map", "mfvi", "vifa", "swag", "slang", "variational-laplace", "directuq-mean", "inducing-ffg", "online-em-fa",
    "mc-dropout", "deep-ensemble", "sghmc", "csgmcmc", "ivon",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_graphs_make_the_updates_of_a_single_network(data, on_gpu, name):
    method = methods.get(name)
    fits = [Fit(np.arange(25), middle_of(method.search_space(TASK)), seed) for seed in (7, 8)]
    trained = train(data, method, fits, augment=augment, rate=cosine)
    assert trained.execution == "captured"
    found, expected = leaves(trained), update_by_update(trained)
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


def test_training_equals_that_of_a_cpu_if_no_random_numbers_are_drawn(data, request):
    single = leaves(train(data, methods.get("deep-ensemble"), rate=cosine))
    request.getfixturevalue("on_gpu")
    for one, other in zip(leaves(train(data, methods.get("deep-ensemble"), rate=cosine)), single, strict=True):
        torch.testing.assert_close(one, other)


def test_a_fit_does_not_depend_on_neighbours_blocks_or_recording(data, on_gpu, monkeypatch):
    fits = [Fit(np.arange(25), HPARAMS, seed) for seed in range(5)]
    plain = leaves(train(data, methods.get("mfvi"), fits))
    monkeypatch.setattr(graphed_series, "ROWS_AHEAD", 5)
    monkeypatch.setattr(graphed_series, "MOST_NUMBERS", 1)
    recorded = train(data, methods.get("mfvi"), fits, n_recorded=4, in_pairs=True)
    assert all(map(torch.equal, leaves(recorded), plain))


def test_diagnostics_equal_those_of_a_cpu(data, request):
    single = train(data, MAP(), n_recorded=4, rate=cosine).training_diagnostics()
    request.getfixturevalue("on_gpu")
    traces = train(data, MAP(), n_recorded=4, rate=cosine).training_diagnostics()
    assert single[0]
    for one, other in zip(traces, single, strict=True):
        for name, trace in one.items():
            np.testing.assert_array_equal(trace.updates, np.sort(other[name].updates))
            np.testing.assert_allclose(trace.values, other[name].values)


def test_progress_ends_at_all_updates(data, on_gpu):
    seen = []
    train(data, methods.get("deep-ensemble"), on_update=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 2 * 5 * N_UPDATES


def test_an_update_that_reads_a_value_is_not_captured(data, on_gpu):
    class Reader(MAP):
        def update(self, problem, state, batch, noise, step):
            assert math.isfinite(float(batch.x.sum()))
            return super().update(problem, state, batch, noise, step)

    assert all(map(torch.equal, leaves(train(data, Reader())), leaves(train(data, MAP()))))


def test_a_state_that_changes_its_shape_is_refused(data, on_gpu):
    class Growing(Method):
        name, title, paper = "growing", "Growing", MAP.paper

        def search_space(self, task):
            return {}

        def init(self, problem, noise):
            return torch.zeros(1)

        def update(self, problem, state, batch, noise, step):
            return torch.cat([state, state])

    with pytest.raises(TypeError, match=r"growing\.update must return a state of the structure, shapes and types"):
        train(data, Growing())


@pytest.mark.parametrize(("name", "expected"), [("map", cuda_loop.record), ("slang", cuda_loop.plainly)])
def test_updates_that_wait_for_the_gpu_are_not_recorded(data, monkeypatch, name, expected):
    recorders = []
    monkeypatch.setattr(graphed_series, "has_graphs", lambda device: True)

    def graphed(step, fixed, record):
        recorders.append(record)
        return GraphedUpdates(step, fixed, warmed_up)

    monkeypatch.setattr(graphed_series, "GraphedUpdates", graphed)
    method = methods.get(name)
    train(data, method, [Fit(np.arange(25), middle_of(method.search_space(TASK)), 7)])
    assert recorders == [expected]


def test_large_networks_are_trained_one_by_one(data, on_gpu, monkeypatch):
    assert train(data, MAP()).execution == "captured"
    monkeypatch.setattr(graphed_series, "LARGE", 10)
    assert train(data, MAP()).execution == "sequential"


LENET = Task("tiny", Categorical(3), LeNet((1, 12, 12), 3))


@pytest.fixture(scope="module")
def small_images() -> Data:
    generator = np.random.default_rng(0)
    return Data.of(generator.integers(0, 256, size=(60, 144), dtype=np.uint8), np.arange(60.0) % 3)


def train_lenet(data, name, **options):
    method = methods.get(name)
    fits = [Fit(np.arange(25), middle_of(method.search_space(LENET)), seed) for seed in (7, 8)]
    schedule = Schedule.exactly(method, 25, 6, N_UPDATES)
    return train_sequentially(method, LENET, data, fits, schedule, channels=1, rate=cosine, **options)


@pytest.mark.parametrize("name", ["map", "deep-ensemble"])
def test_lenet_on_a_cpu_is_trained_by_compiled_stages(small_images, name, monkeypatch):
    compiled = train_lenet(small_images, name)
    monkeypatch.setattr(sequential_training, "pays", lambda *_: False)
    by_torch = train_lenet(small_images, name)
    assert (compiled.execution, by_torch.execution) == ("captured", "sequential")
    for one, other in zip(leaves(compiled), leaves(by_torch), strict=True):
        assert not torch.equal(one, other)
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_lenet_on_a_cpu_needs_no_compiler(small_images, monkeypatch):
    def missing(stage):
        raise NoCompiler("no compiler was found")

    compiled = train_lenet(small_images, "map")
    monkeypatch.setattr(Stage, "library", missing)
    with noted_obstacles() as noted:
        plain = train_lenet(small_images, "map")
    assert noted == {"map": "no compiler was found"}
    for one, other in zip(leaves(plain), leaves(compiled), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
        assert not torch.equal(one, other)
