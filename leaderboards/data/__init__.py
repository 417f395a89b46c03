"""Parquet in, frames out: rows of results folders, tables kept beside them, and published numbers.

Imports `bench.schema` and `bench.results.reader`.
"""
