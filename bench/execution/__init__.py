"""Workers, scheduling, retries and the Dask cluster: runs jobs and returns their outcomes.

Imports `bench.evaluation` by name only.
"""
