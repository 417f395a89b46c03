"""Methods of the catalogue as parameters of tests that would say the same of many of them."""

from collections.abc import Iterable

import pytest

# One method of each kind of update.
KINDS = (
    *("vifa", "map", "swag", "slang", "mfvi", "mc-dropout", "laplace", "variational-laplace", "inducing-ffg"),
    *("directuq-mean", "online-em-fa", "mile", "sghmc", "ivon", "svgd", "batch-ensemble", "epinet", "sngp", "vbll"),
)


def one_of_each_kind(names: Iterable[str]) -> list:
    """Return a parameter for each method; all others than `KINDS` and `gp`, which has no updates, are slow."""
    usual = {*KINDS, "gp"}
    return [pytest.param(name, marks=() if name in usual else pytest.mark.slow, id=name) for name in names]
