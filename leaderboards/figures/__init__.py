"""Figures as SVG: dot plots, forest plots, small multiples, calibration. Imports `leaderboards.stats` and below."""
