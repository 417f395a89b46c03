"""Gaussians fitted to streams of vectors whose true distribution is known: cells that train no network.

Imports `bench.reference` and `bench.engine`.
"""
