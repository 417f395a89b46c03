"""Optimisers, annealing of the divergence, and SGD trajectories.

Imports allowed here: `methods.base` and what `methods.base` imports.
"""
