"""Training on a real GPU. These tests run where torch finds one; elsewhere `test_cuda_loop` has stand-ins."""

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

from lockstep_bench import methods
from lockstep_bench.bench import conformance
from lockstep_bench.bench.conformance.examined import REGRESSION, TRAIN_ROWS, Examined, data_of, middle_of
from lockstep_bench.bench.engine import graphed_series
from lockstep_bench.bench.engine.cuda_loop import GraphedUpdates, plainly
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.rates import cosine
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.sequential_training import train_sequentially
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.networks.convnets import ConvNet, LeNet
from lockstep_bench.methods.problem import Task

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

STACKED = [name for name in methods.names() if methods.get(name).stackable]


def trained(name, n_fits=3, execution="captured", dtype=torch.float32, updates=20):
    method = methods.get(name)
    hparams = middle_of(method.search_space(REGRESSION))
    fits = [Fit(TRAIN_ROWS, hparams, seed) for seed in range(n_fits)]
    schedule = Schedule.exactly(method, len(TRAIN_ROWS), 5, updates)
    return train_stacked(
        method, REGRESSION, data_of(REGRESSION, "cuda"), fits, schedule, execution=execution, dtype=dtype
    )


@pytest.mark.parametrize("name", [name for name in STACKED if Examined(methods.get(name), [REGRESSION]).tasks])
def test_updates_of_a_run_on_a_gpu_equal_single_updates(name):
    in_graphs, single = (
        tree_leaves(trained(name, execution=way, dtype=torch.float64).posterior) for way in ("captured", "eager")
    )
    tensors = [pair for pair in zip(in_graphs, single, strict=True) if isinstance(pair[0], torch.Tensor)]
    assert all(leaf.device.type == "cuda" for pair in tensors for leaf in pair)
    for one, other in tensors:
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


def test_a_fit_on_a_gpu_does_not_depend_on_its_neighbours():
    for name in ("map", "mfvi", "vifa"):
        alone, among = (
            next(iter(trained(name, n_fits, dtype=torch.float64).predict([np.arange(30, 40)] * n_fits, 5)))
            for n_fits in (1, 50)
        )
        torch.testing.assert_close(among, alone, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["map", "vifa", "swag"])
def test_methods_pass_the_conformance_checks_on_a_gpu(name):
    findings = list(conformance.check(methods.get(name), tasks=[REGRESSION], device="cuda"))
    assert all(finding.passed for finding in findings), [each.detail for each in findings if not each.passed]


IMAGES = Task("images", Categorical(3), ConvNet((1, 12, 12), channels=(3, 4), n_outputs=3))
FOR_IMAGES = [name for name in methods.names() if Examined(methods.get(name), [IMAGES]).tasks]


def trained_on_images(name, n_fits=3):
    method = methods.get(name)
    pixels = np.random.default_rng(0).integers(0, 256, size=(60, 144), dtype=np.uint8)
    fits = [Fit(np.arange(40), middle_of(method.search_space(IMAGES)), seed) for seed in range(n_fits)]
    schedule = Schedule.exactly(method, 40, 5, 20)
    data = Data.of(pixels, np.arange(60.0) % 3, "cuda")
    return train_sequentially(method, IMAGES, data, fits, schedule, channels=1, rate=cosine, dtype=torch.float64)


def without_graphs(step, fixed, record):
    return GraphedUpdates(step, fixed, plainly)


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_image_networks_in_graphs_equal_those_without(name, monkeypatch):
    in_graphs = tree_leaves(trained_on_images(name).posteriors)
    monkeypatch.setattr(graphed_series, "GraphedUpdates", without_graphs)
    pairs = zip(in_graphs, tree_leaves(trained_on_images(name).posteriors), strict=True)
    for one, other in (pair for pair in pairs if isinstance(pair[0], torch.Tensor)):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["map", "deep-ensemble"])
def test_lenet_learns_in_graphs_as_without(name, monkeypatch):
    """Test networks and minibatches that are large enough for kernels with a workspace, in single precision."""

    def objectives():
        method = methods.get(name)
        generator = np.random.default_rng(0)
        classes = np.arange(2000) % 10
        pixels = generator.integers(0, 100, size=(2000, 28, 28), dtype=np.uint8)
        for image, number in zip(pixels, classes, strict=True):
            image[:, 2 * number : 2 * number + 8] += 100
        task = Task("stripes", Categorical(10), LeNet((1, 28, 28), 10))
        fits = [Fit(np.arange(2000), middle_of(method.image_space(task)), 0)]
        schedule = Schedule.exactly(method, 2000, 128, 600)
        data = Data.of(pixels.reshape(2000, -1), classes.astype(float), "cuda")
        trained = train_sequentially(method, task, data, fits, schedule, channels=1, rate=cosine, n_recorded=20)
        return trained.training_diagnostics()[0]["objective"].values

    in_graphs = objectives()
    monkeypatch.setattr(graphed_series, "GraphedUpdates", without_graphs)
    np.testing.assert_allclose(in_graphs, objectives(), rtol=0.05)
    assert in_graphs[-1] < in_graphs[0] / 2
