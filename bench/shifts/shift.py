"""What a shift is: a name, its severities, and what it does to images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.engine.seeds import seed_of

CHUNK = 1000  # images that are changed at once: 12 MiB in single precision if they are CIFAR's

# Images, single precision (n, C, H, W) from 0 to 1; the level of a severity; a generator for each image. Returns the
# changed images, which may leave that range.
Change = Callable[[np.ndarray, Any, Sequence[np.random.Generator]], np.ndarray]


@dataclass(frozen=True)
class Shift:
    """A way in which test images differ from training images.

    Attributes:
        name: its key.
        title: for people.
        family: which shifts are averaged and drawn together; a key of `bench.schema.SHIFT_FAMILIES`.
        levels: by severity, the parameters of `change`.
        change: what is done to the images.
    """

    name: str
    title: str
    family: str
    levels: Mapping[int, Any] = field(repr=False)
    change: Change = field(repr=False)

    @property
    def severities(self) -> tuple[int, ...]:
        """From the mildest to the most severe, in the unit of the family."""
        return tuple(self.levels)

    def apply(self, images: np.ndarray, severity: int, seed: int, rows: np.ndarray | None = None) -> np.ndarray:
        """The images as the shift leaves them, uint8 (n, C, H, W).

        An image of a row is changed alike whatever other images it comes with.

        Args:
            images: uint8 (n, C, H, W).
            severity: one of `severities`.
            seed: of the shift's random numbers, 0 or more.
            rows: (n,) of the images in their data set, from 0; None for 0 to n - 1.
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
            found = self.change(images[part].astype(np.float32) / 255, self.levels[severity], generators)
            changed[part] = np.clip(found * 255, 0, 255).round()
        return changed


def _generator(key: int, row: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([key, row], np.uint64)))
