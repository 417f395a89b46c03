"""Approximate-inference methods for neural networks: one file per method, `base.py` for the contract.

`methods.names()`, `methods.describe(name)` and `methods.card(name)` need no torch; `methods.get(name)` imports the
method itself.
"""

from methods.catalogue.cards import Card, card
from methods.catalogue.registry import BrokenMethod, UnknownMethod, describe, get, headline, names, problem_with

__all__ = ["BrokenMethod", "Card", "UnknownMethod", "card", "describe", "get", "headline", "names", "problem_with"]
