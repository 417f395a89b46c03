"""Parquet in, frames out: rows of results folders, what was kept beside them, and published numbers. Imports
`bench.schema`.
"""
