"""Comparison of two sets of results: what changed significantly.

Imports `leaderboards.stats` and the layers below it.
"""
