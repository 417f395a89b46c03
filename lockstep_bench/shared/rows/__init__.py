"""Result files (Parquet), one row per result: atomic writing, checksums, reading and checking.

This package imports `shared.schema`.
"""
