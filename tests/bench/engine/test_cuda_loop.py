"""Updates through fixed buffers equal updates one after the other. CUDA graphs are replaced by plain calls."""

import numpy as np
import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine import updates
from lockstep_bench.bench.engine.cuda_loop import GraphedUpdates
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_leaves
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Task

N_UPDATES, N_REPLICAS, LENGTH = 11, 3, 4


def step(scale, index, noise, count, weights, velocity, previous):
    """Return a state in which one leaf is the one before of another, as in SWAG's deviations."""
    gradient = scale * weights + noise.sum(1) + index.sum((1, 2)) / count
    velocity = 0.9 * velocity + gradient
    return [weights - 0.1 * velocity, velocity, weights]


def warmed_up(work):
    """Record as CUDA does: some calls to warm up, none of which is to count."""
    work()
    work()
    return work


def inputs(device="cpu"):
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(9, (N_UPDATES, N_REPLICAS, 1, 5), generator=generator).to(device)
    noise = torch.randn(N_UPDATES, N_REPLICAS, LENGTH, generator=generator).to(device)
    counts = torch.arange(1.0, N_UPDATES + 1, device=device)
    leaves = [torch.full((N_REPLICAS,), value, device=device) for value in (1.0, 0.0, 2.0)]
    return index, noise, counts, leaves


def one_by_one(scale, index, noise, counts, leaves):
    for number in range(len(counts)):
        leaves = step(scale, index[number], noise[number], counts[number], *leaves)
    return leaves


def test_cuda_graph_updates_equal_single_updates():
    index, noise, counts, leaves = inputs()
    scale = torch.tensor([0.1, 0.2, 0.3])
    graphed = GraphedUpdates(step, [scale], warmed_up)
    first = graphed(index[:9], noise[:9], counts[:9], leaves)
    kept = [leaf.clone() for leaf in first]
    last = graphed(index[9:], noise[9:], counts[9:], first)
    assert all(map(torch.equal, last, one_by_one(scale, index, noise, counts, leaves)))
    assert all(map(torch.equal, first, kept))


def test_each_graph_length_is_captured_once():
    recorded = []
    updates = GraphedUpdates(step, [torch.ones(N_REPLICAS)], lambda work: recorded.append(work) or work)
    for _ in range(3):
        updates(*inputs())
    assert len(recorded) == 2  # of eight updates, and of the three that are left


def test_failed_graph_capture_falls_back_to_plain_calls():
    def refuse(work):
        work()
        raise RuntimeError("operation not permitted when stream is capturing")

    scale = torch.ones(N_REPLICAS)
    index, noise, counts, leaves = inputs()
    result = GraphedUpdates(step, [scale], refuse)(index, noise, counts, leaves)
    assert all(map(torch.equal, result, one_by_one(scale, index, noise, counts, leaves)))


def test_graph_buffers_stay_on_the_device():
    updates = GraphedUpdates(step, [torch.ones(N_REPLICAS, device="meta")], warmed_up)
    leaves = updates(*inputs("meta"))
    assert [(leaf.device.type, tuple(leaf.shape)) for leaf in leaves] == [("meta", (N_REPLICAS,))] * 3


def test_stack_on_a_gpu_trains_through_cuda_graphs(monkeypatch):
    """A stack on a GPU is trained through graphs; here the device is the CPU, and the graphs are plain calls."""
    task = Task("tiny", Gaussian((0.1, 10.0)), MLP(3, hidden=(6,)))
    x = np.random.default_rng(0).standard_normal((20, 3))
    fits = [Fit(np.arange(20), {"lr": 0.01, "prior_precision": 1.0, "noise_precision": 1.0}, seed) for seed in range(3)]

    def posterior():
        trained = train_stacked(
            methods.get("swag"), task, Data.of(x, x.sum(1)), fits, Schedule(20, 5, 7, 1), execution="captured"
        )
        return tree_leaves(trained.posterior)

    plain = posterior()
    monkeypatch.setattr(updates, "has_graphs", lambda device: True)
    monkeypatch.setattr(updates, "GraphedUpdates", lambda step, fixed: GraphedUpdates(step, fixed, warmed_up))
    assert all(map(torch.equal, plain, posterior()))
