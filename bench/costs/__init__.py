"""Time and memory of cells, measured or estimated, and their grouping into jobs.

Imports `bench.execution` and the rooms below it.
"""
