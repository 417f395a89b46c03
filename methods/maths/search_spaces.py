"""Shorthands for the distributions of a search space."""

from collections.abc import Mapping

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution


def LogUniform(low: float, high: float) -> FloatDistribution:
    """log(value) is uniform on [log(low), log(high)]."""
    return FloatDistribution(low, high, log=True)


def OneOf(*values: float) -> CategoricalDistribution:
    """One of the values, each as likely."""
    return CategoricalDistribution(values)


WIDE: Mapping[str, FloatDistribution] = {"lr": LogUniform(2e-5, 1e-1), "prior_precision": LogUniform(1e-4, 1e3)}
IMAGES: Mapping[str, FloatDistribution] = {"lr": LogUniform(3e-4, 1e-2), "prior_precision": LogUniform(1, 100)}
# Of the VIFA paper, section 4.3.1: weights that were trained on other images are not to be lost.
PRETRAINED: Mapping[str, FloatDistribution] = {"lr": LogUniform(1e-6, 5e-4), "prior_precision": LogUniform(0.01, 10)}
NOISE_PRECISION_MARGINS = 10.0, 100.0  # of a wide range below and above the usual one: good models have little noise


def for_images(space: Mapping[str, BaseDistribution], *, pretrained: bool) -> dict[str, BaseDistribution]:
    """The space with the usual hyper-parameters' ranges for Adam and thousands of images; others as they are.

    Networks that start from trained weights have ranges of their own.
    """
    ranges = PRETRAINED if pretrained else IMAGES
    return {name: ranges.get(name, distribution) for name, distribution in space.items()}


def widened(space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """The space with the usual hyper-parameters' ranges made as wide as any data set needs; others as they are."""
    wide = {name: WIDE.get(name, distribution) for name, distribution in space.items()}
    if usual := space.get("noise_precision"):
        below, above = NOISE_PRECISION_MARGINS
        wide["noise_precision"] = LogUniform(usual.low / below, usual.high * above)
    return wide
