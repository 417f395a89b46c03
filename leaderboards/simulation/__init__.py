"""Leaderboards of known truth, which show how often verdicts and intervals hold.

Imports `leaderboards.stats` and below.
"""
