"""Estimators that fit Gaussians to streams of vectors with a known distribution. No network is trained.

Imports allowed here: `bench.reference` and `bench.engine`.
"""
