"""Parameters for tests of all methods, in which near-duplicates of another method are marked as slow."""

from collections.abc import Iterable

import pytest

# Rows whose code another row has too: they differ from `vifa-k1` in the rank, from `directuq-mean-all` in the prior,
# which `directuq-mv` and `directuq-eb` have, from `directuq-mean`, `swag` and `laplace` in the number of networks, and
# from `laplace-marglik-full` in the structure of the curvature.
# `pytest -m slow` has them.
TWINS = frozenset(
    {
        *("vifa-k2", "vifa-k3", "vifa-k5"),
        *("directuq-mv-all", "directuq-eb-all", "directuq-ensemble", "multiswag", "laplace-mixture"),
        *("laplace-marglik-kron", "laplace-marglik-diag"),
    }
)
SLOW = frozenset({"ngboost"})  # whose library takes 5 ms for a tree
# One method of each kind of update.
KINDS = (
    *("vifa", "map", "swag", "slang", "mfvi", "mc-dropout", "laplace", "variational-laplace", "inducing-ffg"),
    *("directuq-mean", "online-em-fa", "mile", "sghmc", "ivon", "svgd", "batch-ensemble", "epinet", "sngp", "vbll"),
)


def marks_of(name: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the pytest mark `slow` if the method nearly duplicates another or takes long; else no mark."""
    return (pytest.mark.slow,) if name in TWINS | SLOW else ()


def each_once(names: Iterable[str]) -> list:
    """Return a pytest parameter for each method; near-duplicates and slow methods are marked `slow`."""
    return [pytest.param(name, marks=marks_of(name), id=name) for name in names]
