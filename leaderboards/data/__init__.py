"""Readers that return data frames: results folders (Parquet), the tables beside them, and published numbers.

Imports `shared.schema`, `shared.rows.reader` and `shared.papers.entries`.
"""
