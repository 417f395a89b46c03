"""Test images as they might be met elsewhere: corrupted, turned, moved. Imports `bench.schema` alone.

>>> from bench.shifts import SHIFTS
>>> SHIFTS["gaussian_noise"].apply(images, severity=3, seed=0)  # uint8 (n, C, H, W), as `images`

The corruptions are those of Hendrycks and Dietterich 2019, "Benchmarking neural network robustness to common
corruptions and perturbations", under the names and at the five severities of their CIFAR-10-C, for grey and colour
images of about 32 pixels a side. They are written anew with NumPy, SciPy and Pillow, so they agree with the published
images in what they do and not in every pixel:

- random numbers are those of the image's row and the seed, and the same at every severity;
- values are rounded to whole grey levels, where the published code cuts them off;
- blurs that the published code leaves to OpenCV and ImageMagick follow what those compute, without their rounding.

The published severities are kept where a higher one is not a harder one: glass blur's third and fifth also blur what
those before them only shuffle, motion blur's third and fourth differ in nothing that shows, and elastic's first warps
images most.

Frost is left out: it lays photographs of frost over the images, and these cannot be shipped. That leaves 14 of the 15.
"""

from bench.shifts.registry import SHIFTS
from bench.shifts.shift import Shift

__all__ = ["SHIFTS", "Shift"]
