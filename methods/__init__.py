"""Approximate-inference methods for neural networks: one file per method, `base.py` for the contract.

`methods.names()` and `methods.describe(name)` need no torch; `methods.get(name)` imports the method itself.
"""

from methods.registry import BrokenMethod, UnknownMethod, describe, get, headline, names, problem_with

__all__ = ["BrokenMethod", "UnknownMethod", "describe", "get", "headline", "names", "problem_with"]
