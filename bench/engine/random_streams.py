"""Random numbers for networks that are trained together (replicas), from a separate generator for each.

On a CPU the generator is NumPy's SFC64, so that a native training loop can draw the same numbers. A step of T numbers
takes ceil(T / 2) new 64-bit words. Each word gives two normal numbers by the Box-Muller transform (Box & Muller 1958):

    u = (upper half + 0.5) / 2^32,    v = lower half, as a signed integer, / 2^32,    r = sqrt(-2 log u),
    z_0 = r cos(2 pi v),              z_1 = r sin(2 pi v),

in the floating-point type of the result. If T is odd, the last number is dropped. `bench/native/include/random.hpp`
does the same.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

# Numbers drawn by one call per replica on a GPU. The size of a block depends only on the method: how a device's
# generator is cut into calls changes the numbers, and a replica's numbers must not depend on its neighbours.
BLOCK_NUMBERS = 1 << 18
MAX_BLOCK_STEPS = 256

# On a CPU the cut does not matter. A stack draws at most `NUMBERS_AHEAD` numbers ahead. It transforms `WORDS_AT_ONCE`
# words at a time, few enough to stay in the processor's cache.
NUMBERS_AHEAD = 1 << 20
MAX_STEPS_AHEAD = 64
WORDS_AT_ONCE = 1 << 15


class RandomStream(Iterator[Tensor]):
    """Endless sequence of tensors (R, T): at each step, T standard normal numbers for each of R replicas.

    Args:
        seeds: one seed per replica.
        length: T, numbers per step; may be 0.
        dtype: type of the numbers.
        device: where the numbers are drawn. A CPU and a GPU draw different numbers from the same seed.

    Attributes:
        length: T.
    """

    def __init__(self, seeds: Sequence[int], length: int, dtype: torch.dtype, device: torch.device):
        draw = _draw_on_cpu(seeds, length, dtype) if device.type == "cpu" else _draw_on(device, seeds, length, dtype)
        self._steps: Iterator[Tensor] = chain.from_iterable(draw)
        self.length, self._seeds, self._device = length, seeds, device
        self._taken = 0

    def __next__(self) -> Tensor:
        self._taken += 1
        return next(self._steps)

    def states(self) -> np.ndarray:
        """Return the states of the generators before the next step, so that other code can continue the sequence.

        Returns:
            (R, 4) unsigned 64-bit integers: for each replica a, b, c and the counter of SFC64, in the order of
            `numpy.random.SFC64(seed).state["state"]["state"]`.

        Raises:
            ValueError: on a GPU, whose generators are not SFC64.
        """
        if self._device.type != "cpu":
            raise ValueError(f"generators on device '{self._device}' have no SFC64 state; draw on the CPU instead")
        generators = [np.random.SFC64(seed) for seed in self._seeds]
        for generator in generators if self._taken else ():
            generator.random_raw(self._taken * _words(self.length), output=False)
        states = [generator.state["state"]["state"] for generator in generators]
        return np.array(states, dtype=np.uint64).reshape(-1, 4)


def next_step(states: np.ndarray, length: int, dtype: torch.dtype) -> Tensor:
    """Return the random numbers that generators in the given states draw at their next step.

    Args:
        states: (R, 4), states of the generators, as `RandomStream.states` returns them.
        length: T, numbers per step.
        dtype: type of the numbers.

    Returns:
        Standard normal numbers, (R, T).
    """
    words = np.empty((len(states), 1, _words(length)), dtype=np.uint64)
    generator = np.random.SFC64(0)
    present = generator.state
    for number, state in enumerate(states):
        generator.state = present | {"state": {"state": state}}
        words[number] = generator.random_raw(words.shape[-1])
    noise = torch.empty(1, *words.shape[::2], 2, dtype=dtype)
    _write_normals(words, noise)
    return noise[0].flatten(1)[:, :length]


def _words(length: int) -> int:
    """Return the words that a step of `length` numbers takes."""
    return (length + 1) // 2


def _draw_on_cpu(seeds: Sequence[int], length: int, dtype: torch.dtype) -> Iterator[Tensor]:
    """Yield blocks of noise (steps, R, T), each in new memory, because a method may keep a view of its noise."""
    generators = [np.random.SFC64(seed) for seed in seeds]
    n_words = _words(length)
    most = max(1, min(MAX_STEPS_AHEAD, NUMBERS_AHEAD // max(1, length * len(seeds))))
    steps = 1  # doubled from block to block: some streams are asked for a single step
    while True:
        block = torch.empty(steps, len(seeds), n_words, 2, dtype=dtype)
        at_once = max(1, WORDS_AT_ONCE // max(1, steps * n_words))
        for first in range(0, len(seeds) if n_words else 0, at_once):
            group = generators[first : first + at_once]
            words = np.stack([generator.random_raw(steps * n_words) for generator in group])
            _write_normals(words.reshape(len(group), steps, n_words), block[:, first : first + at_once])
        yield block.flatten(2)[..., :length]
        steps = min(2 * steps, most)


def _write_normals(words: np.ndarray, out: Tensor) -> None:
    """Write the numbers of words (replicas, steps, W) into `out` (steps, replicas, W, 2)."""
    dtype = np.float64 if out.dtype == torch.float64 else np.float32
    halves = words.view(np.uint32).reshape(*words.shape, 2)
    upper = 1 if sys.byteorder == "little" else 0
    radius = torch.from_numpy(halves[..., upper].astype(dtype))
    torch.add(torch.tensor(2.0**-33, dtype=radius.dtype), radius, alpha=2.0**-32, out=radius)  # (upper + 1/2) / 2^32
    radius.log_().mul_(-2).sqrt_()
    angle = torch.from_numpy(halves[..., 1 - upper].view(np.int32).astype(dtype)).mul_(2 * math.pi * 2.0**-32)
    out = out.transpose(0, 1)
    torch.mul(radius, angle.cos(), out=out[..., 0])
    torch.mul(radius, angle.sin_(), out=out[..., 1])


def _draw_on(device: torch.device, seeds: Sequence[int], length: int, dtype: torch.dtype) -> Iterator[Tensor]:
    """Yield blocks of noise (steps, R, T) from the device's own generators, each in new memory."""
    generators = [torch.Generator(device=device).manual_seed(seed) for seed in seeds]
    steps = max(1, min(MAX_BLOCK_STEPS, BLOCK_NUMBERS // max(length, 1)))
    while True:
        block = torch.empty(len(seeds), steps, length, dtype=dtype, device=device)
        for numbers, generator in zip(block if length else (), generators, strict=bool(length)):
            torch.randn(numbers.shape, generator=generator, dtype=dtype, device=device, out=numbers)
        yield block.transpose(0, 1)
