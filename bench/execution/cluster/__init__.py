"""Jobs on the workers of a Dask cluster, in whose threads they run as they do here: supervised, one to a slot.

Imports `bench.execution`.
"""
