"""Images that are moved and mirrored."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.engine.augment import crops_and_flips
from lockstep_bench.methods.maths.noise import LiveNoise

IMAGE = (3, 16, 24)


def noise(seed: int = 0) -> LiveNoise:
    return LiveNoise(torch.Generator().manual_seed(seed), torch.float32)


def variants(image: np.ndarray, margin: int, flip: bool) -> set[bytes]:
    """All that may become of an image (C, H, W), one after the other."""
    _, height, width = image.shape
    padded = np.pad(image, ((0, 0), (margin, margin), (margin, margin)))
    sources = [padded, padded[:, :, ::-1]] if flip else [padded]
    places = [(i, j) for i in range(2 * margin + 1) for j in range(2 * margin + 1)]
    return {np.ascontiguousarray(one[:, i : i + height, j : j + width]).tobytes() for one in sources for i, j in places}


@pytest.mark.parametrize("flip", [True, False])
def test_augmentation_produces_every_shift_and_flip(flip):
    image = np.random.default_rng(0).integers(1, 256, size=IMAGE, dtype=np.uint8)
    pixels = torch.tensor(image.reshape(1, -1)).expand(3000, -1)
    found = crops_and_flips(pixels, IMAGE, noise(), flip=flip)
    assert found.dtype == torch.uint8
    assert {one.tobytes() for one in found.numpy()} == variants(image, 2, flip)


def test_augmentation_is_seeded_and_independent_per_image():
    pixels = torch.tensor(np.random.default_rng(0).integers(0, 256, size=(40, 3 * 16 * 24), dtype=np.uint8))
    first, again, other = (crops_and_flips(pixels, IMAGE, noise(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    same = torch.tensor(np.tile(pixels[:1].numpy(), (40, 1)))
    assert len({one.tobytes() for one in crops_and_flips(same, IMAGE, noise()).numpy()}) > 10
