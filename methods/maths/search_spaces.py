"""Search spaces of hyper-parameters: shorthands for Optuna distributions, and replacements for the papers' ranges.

`widened` replaces ranges for tuning on any data set, `for_images` for image classifiers.
"""

from collections.abc import Mapping

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution


def LogUniform(low: float, high: float) -> FloatDistribution:
    """Return a distribution of values whose logarithm is uniform on [log(low), log(high)]."""
    return FloatDistribution(low, high, log=True)


def OneOf(*values: float) -> CategoricalDistribution:
    """Return a uniform distribution over the given values."""
    return CategoricalDistribution(values)


WIDE: Mapping[str, FloatDistribution] = {"lr": LogUniform(2e-5, 1e-1), "prior_precision": LogUniform(1e-4, 1e3)}
IMAGES: Mapping[str, FloatDistribution] = {"lr": LogUniform(3e-4, 1e-2), "prior_precision": LogUniform(1, 100)}
# From the VIFA paper, section 4.3.1. Small learning rates keep what the pretrained weights have learnt.
PRETRAINED: Mapping[str, FloatDistribution] = {"lr": LogUniform(1e-6, 5e-4), "prior_precision": LogUniform(0.01, 10)}
# Factors that widen a noise precision's range below and above. Good models leave little noise, so more room is above.
NOISE_PRECISION_MARGINS = 10.0, 100.0


def for_images(space: Mapping[str, BaseDistribution], *, pretrained: bool) -> dict[str, BaseDistribution]:
    """Return the search space with ranges of `lr` and `prior_precision` for image classifiers trained with Adam.

    Args:
        space: hyper-parameter name -> distribution.
        pretrained: whether training starts from pretrained weights; the ranges are then those of `PRETRAINED`.

    Returns:
        The space with these two distributions replaced where present; the others are unchanged.
    """
    ranges = PRETRAINED if pretrained else IMAGES
    return {name: ranges.get(name, distribution) for name, distribution in space.items()}


def widened(space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """Return the search space with wide ranges of `lr`, `prior_precision` and `noise_precision`, to suit any data set.

    Args:
        space: hyper-parameter name -> distribution.

    Returns:
        The space with these distributions replaced where present; the others are unchanged.
    """
    wide = {name: WIDE.get(name, distribution) for name, distribution in space.items()}
    usual = space.get("noise_precision")
    if isinstance(usual, FloatDistribution):
        below, above = NOISE_PRECISION_MARGINS
        wide["noise_precision"] = LogUniform(usual.low / below, usual.high * above)
    return wide
