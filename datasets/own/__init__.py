"""Users' own tables as data sets, and the packages that `python -m datasets new` writes for them.

Imports allowed here: `datasets.splits`, `datasets.errors` and `datasets.records`, and, when a table is read, pandas and
scikit-learn.
"""
