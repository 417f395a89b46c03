"""Tune, fit and score one kind of cell: predictions, posteriors, images, streams.

Imports `bench.engine`, `bench.evaluation.tuning`, `bench.reference` and `bench.metrics`.
"""
