"""Tuning of hyper-parameters: one Optuna study for each method and split.

This package imports `bench.results`, `bench.experiment` and `bench.engine`.
"""
