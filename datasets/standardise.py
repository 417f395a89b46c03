"""Standardisation by the statistics of the training rows, and of no others."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

RELATIVE_TOLERANCE = 1e-12
ROWS_AT_ONCE = 4096  # images whose pixels are counted together


class Standardisation(NamedTuple):
    """The affine map z = (v - mean) / scale, per column."""

    mean: np.ndarray  # (P,) for values (N, P), () for values (N,)
    scale: np.ndarray  # like mean; positive; in units of the values

    @classmethod
    def of(cls, values: np.ndarray, rows: np.ndarray | Sequence[int]) -> Self:
        """The map that gives the given rows of every column mean 0 and variance 1.

            mean = 1/M sum_i v_i,    scale = sqrt(1/M sum_i (v_i - mean)^2),    i over the M rows

        values: (N, P) or (N,), finite.
        rows: (M,) indices of the training rows, M >= 1.

        A column that is constant on these rows, up to rounding (scale <= 1e-12 |mean|), gets scale 1 and its own value
        for a mean: it becomes zeros instead of amplified rounding errors. Raises ValueError when there are no rows.
        """
        chosen = np.asarray(values, dtype=np.float64)[rows]
        if len(chosen) == 0:
            raise ValueError("cannot standardise by the statistics of 0 rows")
        mean, scale = chosen.mean(axis=0), chosen.std(axis=0)
        constant = scale <= RELATIVE_TOLERANCE * np.abs(mean)
        return cls(np.where(constant, chosen[0], mean), np.where(constant, 1.0, scale))

    @classmethod
    def of_channels(cls, pixels: np.ndarray, rows: np.ndarray | Sequence[int], n_channels: int) -> Self:
        """The map that gives each channel, over all its pixels of the given rows, mean 0 and variance 1.

        pixels: uint8 (N, n_channels H W), channel first.
        rows: (M,) indices of the training rows, M >= 1.

        Returns arrays (P,), equal within a channel; a constant channel gets scale 1. Raises ValueError when there are
        no rows.
        """
        if len(rows) == 0:
            raise ValueError("cannot standardise by the statistics of 0 rows")
        per_channel = pixels.shape[1] // n_channels
        counts = np.zeros((n_channels, 256))
        for part in np.array_split(rows, -(-len(rows) // ROWS_AT_ONCE)):
            for count, values in zip(counts, np.split(pixels[part], n_channels, axis=1), strict=True):
                count += np.bincount(values.ravel(), minlength=256)
        share = counts / counts.sum(axis=1, keepdims=True)
        mean = share @ np.arange(256)
        variance = (share * (np.arange(256) - mean[:, None]) ** 2).sum(axis=1)
        scale = np.where(variance > 0, np.sqrt(variance), 1.0)
        return cls(np.repeat(mean, per_channel), np.repeat(scale, per_channel))
