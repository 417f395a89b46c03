"""A row's noise is its own: standard normal, and the same whoever its neighbours are."""

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from bench.engine.random_streams import BLOCK_NUMBERS, RandomStream

CPU = torch.device("cpu")
LENGTHS = [1, 3, 100, BLOCK_NUMBERS // 3, BLOCK_NUMBERS + 1]  # blocks of 16 steps, of 3 steps and of one


def record(seeds: list[int], length: int, steps: int, dtype=torch.float32) -> torch.Tensor:
    """(steps, R, T)."""
    stream = RandomStream(seeds, length, dtype, CPU)
    return torch.stack([next(stream).clone() for _ in range(steps)])


@pytest.mark.parametrize("length", LENGTHS)
def test_noise_does_not_depend_on_neighbours(length):
    alone = record([7], length, 20)[:, 0]
    assert torch.equal(record([7, 1, 2], length, 20)[:, 0], alone)
    assert torch.equal(record([5, 7], length, 20)[:, 1], alone)


@pytest.mark.parametrize("length", LENGTHS)
def test_steps_and_seeds_differ_in_noise(length):
    first = record([1, 2], length, 20)[..., 0]
    assert len(first.unique()) == first.numel()


def test_equal_seeds_give_equal_noise():
    tape = record([4, 4], 3, 20)
    assert torch.equal(tape[:, 0], tape[:, 1])


@pytest.mark.parametrize("n_rows", [1, 3])
def test_noise_of_length_zero_is_empty(n_rows):
    assert record(list(range(n_rows)), 0, 40).shape == (40, n_rows, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_has_the_requested_type(dtype):
    assert record([0], 5, 1, dtype).dtype == dtype


@pytest.mark.parametrize("length", [1, 250])
def test_numbers_are_independent_standard_normals(length):
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


def test_largest_seed_is_accepted():
    assert record([2**63 - 1], 4, 1).isfinite().all()
