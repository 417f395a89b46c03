"""The search for hyper-parameters: one Optuna study per cell.

Imports `bench.results`, `bench.experiment` and `bench.engine`.
"""
