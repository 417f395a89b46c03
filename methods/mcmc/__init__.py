"""The sampler NUTS, microcanonical Langevin dynamics, storage of draws, and diagnostics of chains.

Imports allowed here: `methods.networks` and `methods.maths`.
"""
