"""Shifted test images: corrupted, rotated, translated.

Imports allowed here: `shared.seeds` and `shared.schema`.

>>> from lockstep_bench.datasets.images.shifts import SHIFTS
>>> SHIFTS["gaussian_noise"].apply(images, severity=3, seed=0)  # uint8 (n, C, H, W), as `images`

The corruptions are those of Hendrycks and Dietterich 2019, "Benchmarking neural network robustness to common
corruptions and perturbations", with the names and the five severities of their CIFAR-10-C, for grey and colour images
of about 32 pixels a side. This implementation uses NumPy, SciPy and Pillow. It applies the same operations as the
published code, but single pixels differ:

- Random numbers depend only on the image's row and the seed, and are the same at every severity.
- Values are rounded to grey levels; the published code truncates them.
- Blurs that the published code takes from OpenCV and ImageMagick are computed without the rounding of these libraries.

The published severities are kept, although higher severities are not always harder. Glass blur blurs visibly only at
its third and fifth severity; at the others it only shuffles pixels. Motion blur's third and fourth severities look
alike. The first severity of the elastic transform warps images most.

Frost is left out, because it needs photographs that cannot be shipped. That leaves 14 of the 15 corruptions. Three of
CIFAR-10-C's four extra corruptions form a separate family, which is applied only if a run asks for all shifts. The
fourth, spatter, is left out because it needs an edge detector and a distance transform of OpenCV.
"""

from lockstep_bench.datasets.images.shifts.registry import SHIFTS
from lockstep_bench.datasets.images.shifts.shift import Shift

__all__ = ["SHIFTS", "Shift"]
