"""Tabular data sets for regression and classification: UCI data sets, and those that come with scikit-learn.

This package imports `datasets.records` and `datasets.splits`.
"""
