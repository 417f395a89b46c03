"""Optimisers, annealing of the divergence, and SGD trajectories.

This package imports `methods.base` and what `methods.base` imports.
"""
