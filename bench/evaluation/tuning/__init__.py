"""Tuning of hyper-parameters: one Optuna study for each method and split.

Imports allowed here: `bench.results`, `bench.experiment` and `bench.engine`.
"""
