"""Approximate-inference methods for neural networks: one file per method, and the contract in `base.py`.

Imports nothing of `bench`, `datasets` or `leaderboards`. `names`, `describe` and `card` work without importing torch;
`get` imports the method.
"""

from methods.catalogue.cards import Card, card
from methods.catalogue.registry import (
    BASELINE,
    UNRANKED,
    BrokenMethod,
    UnknownMethod,
    describe,
    get,
    headline,
    names,
    problem_with,
)

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
    "names",
    "problem_with",
]
