"""The commands of `python -m leaderboards`, a file for each idea.

Imports every room; those that need pandas or SciPy only when a command runs, so that `--help` is instant.
"""
