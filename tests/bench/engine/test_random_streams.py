"""A row's noise is its own: standard normal, and the same whoever its neighbours are."""

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from lockstep_bench.bench.engine import random_streams
from lockstep_bench.bench.engine.random_streams import NUMBERS_AHEAD, WORDS_AT_ONCE, RandomStream

CPU = torch.device("cpu")
LENGTHS = [1, 3, 100, WORDS_AT_ONCE + 1, NUMBERS_AHEAD // 3]  # many steps ahead, and hardly one


def record(seeds: list[int], length: int, steps: int, dtype=torch.float32) -> torch.Tensor:
    """Return the noise of the first steps, (steps, R, T)."""
    stream = RandomStream(seeds, length, dtype, CPU)
    return torch.stack([next(stream).clone() for _ in range(steps)])


@pytest.mark.parametrize("length", LENGTHS)
def test_fits_noise_does_not_depend_on_other_fits(length):
    alone = record([7], length, 20)[:, 0]
    assert torch.equal(record([7, 1, 2], length, 20)[:, 0], alone)
    assert torch.equal(record([5, 7], length, 20)[:, 1], alone)


@pytest.mark.parametrize("length", LENGTHS)
def test_noise_differs_between_steps_and_seeds(length):
    first = record([1, 2], length, 20)[..., 0]
    assert len(first.unique()) == first.numel()


def test_equal_seeds_give_equal_noise():
    tape = record([4, 4], 3, 20)
    assert torch.equal(tape[:, 0], tape[:, 1])


@pytest.mark.parametrize("n_rows", [1, 3])
def test_noise_of_length_zero_is_empty(n_rows):
    assert record(list(range(n_rows)), 0, 40).shape == (40, n_rows, 0)


def test_noise_does_not_depend_on_internal_chunk_sizes(monkeypatch):
    expected = record([3, 4, 5], 7, 40)
    monkeypatch.setattr(random_streams, "WORDS_AT_ONCE", 10)
    monkeypatch.setattr(random_streams, "NUMBERS_AHEAD", 100)
    assert torch.equal(record([3, 4, 5], 7, 40), expected)


def normals_of(words: np.ndarray, dtype: type) -> np.ndarray:
    """Return the normal numbers (..., 2 W) of words (..., W), in double precision from uniform numbers of `dtype`."""
    uniform = ((words >> np.uint64(32)).astype(dtype) + dtype(0.5)) * dtype(2.0**-32)
    turns = words.astype(np.uint32).view(np.int32).astype(dtype) * dtype(2.0**-32)
    radius, angle = np.sqrt(-2 * np.log(uniform.astype(np.float64))), 2 * np.pi * turns.astype(np.float64)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(*words.shape[:-1], -1)


@pytest.mark.parametrize("length", [1, 6, 7])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-14)])
def test_noise_equals_box_muller_of_numpys_generator(length, dtype, tolerance):
    words = np.random.SFC64(8).random_raw(50 * ((length + 1) // 2)).reshape(50, -1)
    expected = normals_of(words, np.float32 if dtype == torch.float32 else np.float64)[:, :length]
    np.testing.assert_allclose(record([8], length, 50, dtype)[:, 0], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("length", [0, 1, 6, 7])
@pytest.mark.parametrize("n_steps", [0, 1, 5])
def test_saved_generator_state_continues_the_noise_stream(length, n_steps):
    stream = RandomStream([1, 2], length, torch.float64, CPU)
    for _ in range(n_steps):
        next(stream)
    states, later = stream.states(), next(stream)
    assert states.shape == (2, 4)
    for state, numbers in zip(states, later, strict=True):
        generator = np.random.SFC64()
        generator.state = generator.state | {"state": {"state": state}}
        words = generator.random_raw((length + 1) // 2)
        np.testing.assert_allclose(numbers, normals_of(words, np.float64)[:length], rtol=0, atol=1e-14)


def test_generator_state_of_another_device_is_refused():
    with pytest.raises(ValueError, match="'cuda' have no SFC64 state"):
        RandomStream([1], 3, torch.float32, torch.device("cuda")).states()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_has_the_requested_type(dtype):
    assert record([0], 5, 1, dtype).dtype == dtype


@pytest.mark.parametrize("length", [1, 250])
def test_noise_is_independent_standard_normal(length):
    """Moments at four standard errors, the whole distribution by Kolmogorov and Smirnov."""
    tape = record([12, 13], length, 20_000 // length, torch.float64)
    n = tape[:, 0].numel()
    one, other = tape[:, 0].reshape(-1).numpy(), tape[:, 1].reshape(-1).numpy()
    for numbers in (one, other):
        assert abs(numbers.mean()) < 4 / np.sqrt(n)
        assert abs((numbers**2).mean() - 1) < 4 * np.sqrt(2 / n)
        assert abs((numbers**4).mean() - 3) < 4 * np.sqrt(96 / n)
        assert abs((numbers[1:] * numbers[:-1]).mean()) < 4 / np.sqrt(n)
        assert kstest(numbers, "norm").pvalue > 1e-3
    assert abs((one * other).mean()) < 4 / np.sqrt(n)


def test_global_generator_is_neither_read_nor_advanced():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    tape = record([9], 4, 20)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(record([9], 4, 20), tape)


def test_largest_possible_seed_is_accepted():
    assert record([2**63 - 1], 4, 1).isfinite().all()
