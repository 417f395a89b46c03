"""Result files (Parquet), one row per result: atomic writing, checksums, reading and checking.

Imports allowed here: `shared.schema`.
"""
