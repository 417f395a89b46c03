"""Console output of a run: plan, progress, closing tables, and the reaction to Ctrl-C and other signals.

This package may import all other subpackages of `bench`.
"""
