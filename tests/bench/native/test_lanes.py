"""Replicas in lanes."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.native.lanes import ALIGNMENT, Lanes, aligned


@pytest.mark.parametrize("n_replicas", [1, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_joining_inverts_spreading_over_simd_lanes(n_replicas, shape, dtype):
    lanes, leaf = Lanes(4, n_replicas), (100 * torch.rand(n_replicas, *shape)).to(dtype)
    spread = lanes.spread(leaf)
    assert spread.shape == (lanes.n_blocks, leaf[0].numel(), 4)
    joined = torch.from_numpy(lanes.joined(spread))
    assert joined.dtype == dtype
    assert torch.equal(joined.reshape(leaf.shape), leaf)


def test_unused_simd_lanes_repeat_the_last_network():
    spread = Lanes(4, 5).spread(torch.arange(10.0).reshape(5, 2))
    assert spread[0].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert spread[1].tolist() == [[8] * 4, [9] * 4]


def test_true_is_stored_as_minus_one():
    assert Lanes(4, 2).spread(torch.tensor([True, False])).tolist() == [[[-1, 0, 0, 0]]]


def test_non_contiguous_tensors_are_spread_in_order():
    leaf = torch.arange(12.0).reshape(2, 2, 3).mT
    assert torch.equal(torch.from_numpy(Lanes(4, 2).joined(Lanes(4, 2).spread(leaf))).reshape(2, 3, 2), leaf)


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_memory_starts_at_simd_boundaries(count):
    array = aligned((count, 3), np.dtype(np.float64))
    assert (array.shape, array.dtype) == ((count, 3), np.float64)
    assert count == 0 or array.ctypes.data % ALIGNMENT == 0
