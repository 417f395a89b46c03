"""Workers, scheduling, retries and the Dask cluster: runs jobs and returns their outcomes.

Imports allowed here: `bench.evaluation` and what that imports.
"""
