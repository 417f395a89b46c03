"""The results folder: its record, its files and its lock.

Imports `bench.experiment`, `bench.environment` and `shared.schema`.
"""
