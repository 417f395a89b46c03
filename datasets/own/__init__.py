"""Own data: tables of a user's own as data sets, and the packages that `python -m datasets new` writes.

Imports `datasets.splits`, `datasets.errors` and `datasets.records`; pandas and scikit-learn only when a table is read.
"""
