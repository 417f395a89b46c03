"""Tabular data sets for regression and classification: UCI data sets, and those that come with scikit-learn.

Imports allowed here: `datasets.records` and `datasets.splits`.
"""
