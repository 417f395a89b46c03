"""Optimisers, annealing of the divergence, and SGD trajectories. Imports `methods.base` and below."""
