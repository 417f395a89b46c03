"""The record of a shift: its name, its severities, and the function that changes images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lockstep_bench.shared.seeds import seed_of

CHUNK = 1000  # images are changed in chunks of this size: 12 MiB of CIFAR images in single precision

# Takes images, single precision (n, C, H, W) in [0, 1]; the level of a severity; a random generator per image. Returns
# the changed images, whose values may leave [0, 1].
Change = Callable[[np.ndarray, Any, Sequence[np.random.Generator]], np.ndarray]


@dataclass(frozen=True)
class Shift:
    """A shift: a way in which test images are changed so that they differ from training images.

    Attributes:
        name: key in `SHIFTS`.
        title: name for display.
        family: key of `shared.schema.SHIFT_FAMILIES`; shifts of a family are averaged and plotted together.
        levels: parameters of `change` for each severity.
        change: function that changes the images.
    """

    name: str
    title: str
    family: str
    levels: Mapping[int, Any] = field(repr=False)
    change: Change = field(repr=False)

    @property
    def severities(self) -> tuple[int, ...]:
        """Severities in increasing order, in the unit of the family, such as degrees for rotations."""
        return tuple(self.levels)

    def apply(self, images: np.ndarray, severity: int, seed: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the shifted images, uint8 (n, C, H, W).

        The result for an image depends on its row and the seed, not on the other images.

        Args:
            images: uint8 (n, C, H, W).
            severity: one of `severities`.
            seed: seed of the shift's random numbers, 0 or more.
            rows: (n,), row numbers of the images in their data set; None for 0 to n - 1.

        Raises:
            ValueError: images, severity or rows are not as described.
        """
        if images.dtype != np.uint8 or images.ndim != 4:
            got = f"{images.dtype} of shape {images.shape}"
            raise ValueError(f"shift {self.name!r}: images should be uint8 of shape (n, C, H, W), got {got}")
        if severity not in self.levels:
            allowed = ", ".join(map(str, self.severities))
            raise ValueError(f"shift {self.name!r}: severity should be one of {allowed}, got {severity!r}")
        rows = np.arange(len(images)) if rows is None else np.asarray(rows)
        if rows.shape != (len(images),):
            raise ValueError(f"shift {self.name!r}: {len(images)} images need as many rows, got shape {rows.shape}")
        changed = np.empty_like(images)
        key = seed_of(seed, "shift", self.name)
        for start in range(0, len(images), CHUNK):
            part = slice(start, start + CHUNK)
            generators = [_generator(key, row) for row in rows[part]]
            shifted = self.change(images[part].astype(np.float32) / 255, self.levels[severity], generators)
            changed[part] = np.clip(shifted * 255, 0, 255).round()
        return changed


def _generator(key: int, row: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([key, row], np.uint64)))
