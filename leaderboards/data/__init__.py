"""Parquet in, frames out: rows of results folders, tables kept beside them, and published numbers.

Imports `shared.schema`, `shared.rows.reader` and `shared.papers.entries`.
"""
