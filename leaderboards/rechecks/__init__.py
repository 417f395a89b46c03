"""Rechecks: stored results, drawn at random, are repeated with the current code, and their numbers compared.

Imports `leaderboards.replications` and the layers below it. Results are repeated by `run_all.py` in separate processes.
"""
