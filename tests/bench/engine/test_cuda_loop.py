"""Updates through fixed buffers equal updates one after the other. CUDA graphs are replaced by plain calls."""

import pytest
import torch

from bench.engine import cuda_loop
from bench.engine.cuda_loop import DeviceNoise, GraphedUpdates

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


def test_graphed_updates_equal_single_steps():
    index, noise, counts, leaves = inputs()
    scale = torch.tensor([0.1, 0.2, 0.3])
    updates = GraphedUpdates(step, [scale], warmed_up)
    first = updates(index[:9], noise[:9], counts[:9], leaves)
    kept = [leaf.clone() for leaf in first]
    last = updates(index[9:], noise[9:], counts[9:], first)
    assert all(map(torch.equal, last, one_by_one(scale, index, noise, counts, leaves)))
    assert all(map(torch.equal, first, kept))


def test_each_number_of_updates_is_recorded_once():
    recorded = []
    updates = GraphedUpdates(step, [torch.ones(N_REPLICAS)], lambda work: recorded.append(work) or work)
    for _ in range(3):
        updates(*inputs())
    assert len(recorded) == 2  # of eight updates, and of the three that are left


def test_failed_recording_falls_back_to_calls():
    def refuse(work):
        work()
        raise RuntimeError("operation not permitted when stream is capturing")

    scale = torch.ones(N_REPLICAS)
    index, noise, counts, leaves = inputs()
    result = GraphedUpdates(step, [scale], refuse)(index, noise, counts, leaves)
    assert all(map(torch.equal, result, one_by_one(scale, index, noise, counts, leaves)))


def test_buffers_stay_on_the_device():
    updates = GraphedUpdates(step, [torch.ones(N_REPLICAS, device="meta")], warmed_up)
    leaves = updates(*inputs("meta"))
    assert [(leaf.device.type, tuple(leaf.shape)) for leaf in leaves] == [("meta", (N_REPLICAS,))] * 3


@pytest.mark.parametrize("cuts", [(7, 1, 5), (13,)])
def test_noise_depends_on_the_replica_alone(monkeypatch, cuts):
    monkeypatch.setattr(cuda_loop, "MAX_BLOCK_UPDATES", 4)
    cpu = torch.device("cpu")
    stream = DeviceNoise([5, 6, 7], LENGTH, torch.float32, cpu)
    noise = torch.cat([stream.take(count) for count in cuts])
    alone = DeviceNoise([6], LENGTH, torch.float32, cpu).take(13)
    assert noise.shape == (13, 3, LENGTH)
    assert torch.equal(noise[:, 1], alone[:, 0])
    assert len(noise.unique()) == noise.numel()


def test_method_without_noise_gets_empty_noise():
    assert DeviceNoise([1, 2], 0, torch.float32, torch.device("cpu")).take(3).shape == (3, 2, 0)
