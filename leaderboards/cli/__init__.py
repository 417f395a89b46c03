"""The commands of `python -m leaderboards`, one module for each.

Imports every subpackage of `leaderboards`. Those that need pandas or SciPy are imported only when a command runs, so
that `--help` is instant.
"""
