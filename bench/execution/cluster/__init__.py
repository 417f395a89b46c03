"""Runs jobs on the workers of a Dask cluster, in child processes under supervision as on this machine.

Imports `bench.execution`; modules that a Dask worker unpickles import nothing heavy.
"""
