"""The generators in lanes yield NumPy's words, and the normal numbers that the words define."""

import ctypes

import numpy as np
import pytest
import torch

from lockstep_bench.bench.engine.random_streams import RandomStream
from lockstep_bench.bench.native.libraries import lanes, obstacle

LANES = 16 if obstacle() else lanes()  # 16, 8 or 4, by the processor


def generators():
    return [np.random.SFC64(seed) for seed in range(LANES)]


def states(bit_generators):
    return np.array([generator.state["state"]["state"] for generator in bit_generators], dtype=np.uint64)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def normals_of(words, dtype):
    """Return the normal numbers (..., 2 n) of words (..., n), in double precision from uniform numbers of `dtype`."""
    uniform = (((words >> np.uint64(32)).astype(dtype) + dtype(0.5)) * dtype(2.0**-32)).astype(np.float64)
    turns = (words.astype(np.uint32).view(np.int32).astype(dtype) * dtype(2.0**-32)).astype(np.float64)
    radius = np.sqrt(-2 * np.log(uniform))
    pairs = np.stack([radius * np.cos(2 * np.pi * turns), radius * np.sin(2 * np.pi * turns)], axis=-1)
    return pairs.reshape(*words.shape[:-1], -1)


def test_random_words_and_generator_state_equal_numpy(probes):
    bit_generators = generators()
    state, words = states(bit_generators), np.empty((1000, LANES), dtype=np.uint64)
    probes.words(pointer(state), pointer(words), 1000)
    np.testing.assert_array_equal(words.T, [generator.random_raw(1000) for generator in bit_generators])
    np.testing.assert_array_equal(state, states(bit_generators))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_normal_draws_follow_the_box_muller_definition(probes, dtype, tolerance, count):
    calls, bit_generators = 200, generators()
    state, numbers = states(bit_generators), np.empty((calls, count, LANES), dtype=dtype)
    draw = probes.float_normals if dtype is np.float32 else probes.double_normals
    draw(pointer(state), pointer(numbers), count, calls)
    words_a_call = (count + 1) // 2
    words = np.stack([g.random_raw(calls * words_a_call) for g in bit_generators]).reshape(LANES, calls, words_a_call)
    expected = normals_of(words, dtype)[..., :count]
    np.testing.assert_allclose(numbers.transpose(2, 0, 1), expected, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(state, states(bit_generators))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-14)])
@pytest.mark.parametrize("length", [1, 7, 64])
def test_compiled_loops_continue_a_random_stream(probes, dtype, tolerance, length):
    stream = RandomStream(range(LANES), length, dtype, torch.device("cpu"))
    next(stream)
    state, numbers = stream.states(), torch.empty(50, length, LANES, dtype=dtype)
    draw = probes.float_normals if dtype == torch.float32 else probes.double_normals
    draw(pointer(state), ctypes.c_void_p(numbers.data_ptr()), length, 50)
    expected = torch.stack([next(stream) for _ in range(50)])
    torch.testing.assert_close(numbers.transpose(1, 2), expected, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(state, stream.states())
