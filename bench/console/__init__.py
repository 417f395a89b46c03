"""Console output of a run: plan, progress, closing tables, and the reaction to Ctrl-C and other signals.

Imports allowed here: all other subpackages of `bench`.
"""
