"""Users' own tables as data sets, and the packages that `python -m datasets new` writes for them.

This package imports `datasets.splits`, `datasets.errors` and `datasets.records`. It imports pandas and scikit-learn
only when a table is read.
"""
