"""Parquet in, frames out: rows of results folders, tables kept beside them, and published numbers.

Imports `bench.schema`, `bench.results.reader` and `bench.replications.entries`.
"""
