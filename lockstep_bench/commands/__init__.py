"""Command lines that import several packages: `python -m methods check` trains methods with `bench`.

Imports allowed here: `bench`, `methods` and `shared`.
"""
