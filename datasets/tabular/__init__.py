"""Tables for regression and classification: UCI sets and those that scikit-learn ships.

Imports `datasets.records` and `datasets.splits`.
"""
