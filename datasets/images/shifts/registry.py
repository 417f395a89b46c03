"""All shifts of test images by name. The severities of the corruptions are those of CIFAR-10-C."""

from collections.abc import Sequence
from typing import Any

from lockstep_bench.datasets.images.shifts import blur, digital, movement, noise, weather
from lockstep_bench.datasets.images.shifts.shift import Change, Shift

EXTRA = "extra corruption"  # family of what its authors keep for validation and leave out of the benchmark's means


def _corruption(name: str, title: str, change: Change, levels: Sequence[Any], family: str = "corruption") -> Shift:
    return Shift(name, title, family, dict(enumerate(levels, 1)), change)


ALL = (
    _corruption("gaussian_noise", "Gaussian noise", noise.gaussian_noise, (0.04, 0.06, 0.08, 0.09, 0.10)),
    _corruption("shot_noise", "Shot noise", noise.shot_noise, (500, 250, 100, 75, 50)),
    _corruption("impulse_noise", "Impulse noise", noise.impulse_noise, (0.01, 0.02, 0.03, 0.05, 0.07)),
    _corruption(
        "defocus_blur", "Defocus blur", blur.defocus_blur, ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
    ),
    _corruption("glass_blur", "Glass blur", blur.glass_blur, ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))),
    _corruption("motion_blur", "Motion blur", blur.motion_blur, ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))),
    _corruption("zoom_blur", "Zoom blur", blur.zoom_blur, (6, 11, 15, 20, 25)),
    _corruption(
        "snow",
        "Snow",
        weather.snow,
        (
            weather.Snow(0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            weather.Snow(0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            weather.Snow(0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            weather.Snow(0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            weather.Snow(0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
    ),
    _corruption("fog", "Fog", weather.fog, ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))),
    _corruption("brightness", "Brightness", weather.brightness, (0.05, 0.1, 0.15, 0.2, 0.3)),
    _corruption("contrast", "Contrast", digital.contrast, (0.75, 0.5, 0.4, 0.3, 0.15)),
    _corruption(
        "elastic_transform",
        "Elastic",
        digital.elastic_transform,
        ((0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)),
    ),
    _corruption("pixelate", "Pixelate", digital.pixelate, (0.95, 0.9, 0.85, 0.75, 0.65)),
    _corruption("jpeg_compression", "JPEG", digital.jpeg_compression, (80, 65, 58, 50, 40)),
    _corruption("speckle_noise", "Speckle noise", noise.speckle_noise, (0.06, 0.1, 0.12, 0.16, 0.2), EXTRA),
    _corruption("gaussian_blur", "Gaussian blur", blur.gaussian_blur, (0.4, 0.6, 0.7, 0.8, 1.0), EXTRA),
    _corruption("saturate", "Saturate", weather.saturate, ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)), EXTRA),
    Shift("rotation", "Rotation", "rotation", {angle: angle for angle in range(15, 181, 15)}, movement.rotation),
    Shift("translation", "Translation", "translation", {step: step for step in range(2, 15, 2)}, movement.translation),
)

SHIFTS = {shift.name: shift for shift in ALL}
