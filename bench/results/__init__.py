"""Storage of results: the record of a finished cell, the files of the results folder, and its lock.

This package imports `bench.experiment`, `bench.environment` and `shared.schema`.
"""
