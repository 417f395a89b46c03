"""Simulated leaderboards whose true ranking is known, to measure how often verdicts and intervals are right.

Imports `leaderboards.stats` and the layers below it.
"""
