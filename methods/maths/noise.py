"""Randomness as data: a tape of standard normal numbers that a method slices.

The engine draws one tape per row and step from that row's own generator, so a fit's randomness depends on its own
seed alone: not on its neighbours in the stack, nor on the global generator.
"""

import math

import torch
from torch import Tensor


class Noise:
    """Deals the numbers of `tape` (T,), independent N(0, 1) draws, in order and each once."""

    def __init__(self, tape: Tensor):
        self._tape = tape
        self._used = 0

    @property
    def used(self) -> int:
        """How many numbers have been dealt."""
        return self._used

    def normal(self, *shape: int) -> Tensor:
        """Independent N(0, 1) numbers of the given shape."""
        size = math.prod(shape)
        end = self._used + size
        if end > self._tape.shape[-1]:
            raise RuntimeError(
                f"the noise tape holds {self._tape.shape[-1]} numbers and {end} were asked for: a method must ask for "
                "the same amount of noise at every step of a phase"
            )
        piece = self._tape[self._used : end]
        self._used = end
        return piece.reshape(shape)

    def uniform(self, *shape: int) -> Tensor:
        """Independent U(0, 1) numbers of the given shape: the normal distribution function of normal draws."""
        return torch.special.ndtr(self.normal(*shape))


class LiveNoise(Noise):
    """Draws as it is asked, from a generator of its own: for one large network, whose tape would not fit."""

    def __init__(self, generator: torch.Generator, dtype: torch.dtype):
        self._used = 0
        self._generator = generator
        self._options = {"dtype": dtype, "device": generator.device}

    def normal(self, *shape: int) -> Tensor:
        self._used += math.prod(shape)
        return torch.randn(shape, generator=self._generator, **self._options)


class NoiseGauge(LiveNoise):
    """Deals freshly drawn numbers without end; `used` then tells how long a tape a method needs."""

    def __init__(self, dtype: torch.dtype, device: torch.device | str = "cpu"):
        super().__init__(torch.Generator(device=device).manual_seed(0), dtype)
