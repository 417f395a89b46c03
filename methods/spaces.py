"""A shorthand for the distribution of a search space."""

from optuna.distributions import FloatDistribution


def LogUniform(low: float, high: float) -> FloatDistribution:
    """log(value) is uniform on [log(low), log(high)]."""
    return FloatDistribution(low, high, log=True)
