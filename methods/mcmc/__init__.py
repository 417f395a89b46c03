"""The reference sampler NUTS and diagnostics of its chains.

This package imports `methods.networks` and `methods.maths`.
"""
