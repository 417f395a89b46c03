"""Standardisation of features and targets by the mean and standard deviation of the training rows alone."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

RELATIVE_TOLERANCE = 1e-12
ROWS_AT_ONCE = 4096  # images whose pixels are counted together
NOISE_PRECISIONS = (1.0, 100.0)  # of standardised targets: a noise sd of a tenth of the targets' sd, up to all of it


class Standardisation(NamedTuple):
    """The affine map z = (v - mean) / scale, per column.

    Attributes:
        mean: (P,) for values (N, P), and () for values (N,).
        scale: positive, with the shape of `mean`, in units of the values.
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, rows: np.ndarray | Sequence[int]) -> Self:
        """Return the map under which the given rows of every column have mean 0 and variance 1.

            mean = 1/M sum_i v_i,    scale = sqrt(1/M sum_i (v_i - mean)^2),    i over the M rows

        A column that is constant on these rows up to rounding (scale <= 1e-12 |mean|) becomes zeros: its mean is the
        value of the first row, and its scale is 1.

        Args:
            values: (N, P) or (N,), finite.
            rows: (M,) indices of the training rows, M >= 1.

        Raises:
            ValueError: there are no rows.
        """
        chosen = np.asarray(values, dtype=np.float64)[rows]
        if len(chosen) == 0:
            raise ValueError("cannot standardise by the statistics of 0 rows; give at least one training row")
        mean, scale = chosen.mean(axis=0), chosen.std(axis=0)
        constant = scale <= RELATIVE_TOLERANCE * np.abs(mean)
        return cls(np.where(constant, chosen[0], mean), np.where(constant, 1.0, scale))

    @classmethod
    def of_channels(cls, pixels: np.ndarray, rows: np.ndarray | Sequence[int], n_channels: int) -> Self:
        """Return the map under which each channel has mean 0 and variance 1 over its pixels in the given rows.

        Args:
            pixels: uint8 (N, P) with P = n_channels * H * W, channel by channel.
            rows: (M,) indices of the training rows, M >= 1.
            n_channels: number of channels.

        Returns:
            The map, with `mean` and `scale` of shape (P,), equal within a channel; the scale of a constant channel is
                1.

        Raises:
            ValueError: there are no rows.
        """
        if len(rows) == 0:
            raise ValueError("cannot standardise by the statistics of 0 rows; give at least one training row")
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


def noise_precisions(y: np.ndarray) -> tuple[float, float]:
    """Return the range of the noise precision to search, in original target units, for targets y (N,).

    The range is `NOISE_PRECISIONS` / sd(y)^2. (The ranges of built-in data sets begin at 0.4 to 2.9 / sd(y)^2 and end
    at 37 to 291 / sd(y)^2.) If all targets are equal, sd(y) is taken as 1.
    """
    variance = float(Standardisation.of(y, np.arange(len(y))).scale) ** 2
    low, high = NOISE_PRECISIONS
    return low / variance, high / variance
