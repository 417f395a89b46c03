"""The search for hyper-parameters: one Optuna study per cell. Imports `bench.experiment` and `bench.engine`."""
