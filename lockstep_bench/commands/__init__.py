"""Command lines that import several packages: `python -m methods check` trains methods with `bench`.

This package imports `bench`, `methods` and `shared`.
"""
