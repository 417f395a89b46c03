"""Approximate-inference methods for neural networks: one file per method, and the contract in `base.py`.

This package imports nothing from `bench`, `datasets` or `leaderboards`. The functions `names`, `describe` and `card` do
not import torch; `get` imports the method that it returns.
"""

from lockstep_bench.full_name import require_full_name
from lockstep_bench.methods.catalogue.cards import Card, card
from lockstep_bench.methods.catalogue.registry import (
    BASELINE,
    UNRANKED,
    BrokenMethod,
    UnknownMethod,
    describe,
    get,
    headline,
    is_ranked,
    names,
    problem_with,
)

require_full_name(__name__)

__all__ = [
    "BASELINE",
    "UNRANKED",
    "BrokenMethod",
    "Card",
    "UnknownMethod",
    "card",
    "describe",
    "get",
    "headline",
    "is_ranked",
    "names",
    "problem_with",
]
