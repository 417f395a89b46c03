"""Commands that need more than their package: `python -m methods` trains to check a method.

Imports `bench`, `methods` and `shared`.
"""
