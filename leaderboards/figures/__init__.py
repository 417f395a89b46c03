"""Figures as SVG: dot plots, forest plots, small multiples, calibration.

Imports `leaderboards.stats` and the layers below it.
"""
