"""Synthetic data sets with a known truth: factor models, SGD streams, models with a known posterior, a toy task.

Imports allowed here: `datasets.tabular`, `datasets.splits` and `datasets.records`.
"""
