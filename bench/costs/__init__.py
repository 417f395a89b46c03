"""Time and memory of cells, measured or estimated, and their grouping into jobs.

Imports allowed here: `bench.execution` and what that imports.
"""
