"""Storage of results: the record of a finished cell, the files of the results folder, and its lock.

Imports allowed here: `bench.experiment`, `bench.environment` and `shared.schema`.
"""
