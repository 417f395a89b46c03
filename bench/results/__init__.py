"""The results folder: write, read, index and lock it.

Imports `bench.experiment`, `bench.environment` and `shared.schema`.
"""
