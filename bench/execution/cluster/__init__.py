"""Running of jobs on a Dask cluster, in supervised child processes as on this machine.

Imports allowed here: `bench.execution` and what that imports. The modules `identity` and `remote`, which Dask workers
unpickle, import no large library at their top.
"""
