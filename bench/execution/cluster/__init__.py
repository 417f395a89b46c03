"""Run jobs on the workers of a Dask cluster, in supervised child processes as on this machine.

Imports `bench.execution`; modules that a Dask worker unpickles import nothing heavy.
"""
