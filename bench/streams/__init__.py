"""Estimators that fit Gaussians to streams of vectors with a known distribution. No network is trained.

This package imports `bench.reference` and `bench.engine`.
"""
