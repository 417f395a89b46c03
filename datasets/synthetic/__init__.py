"""Synthetic data sets: factor models, SGD streams, models with a known posterior, a toy task, bandits, pools.

Imports allowed here: `datasets.tabular`, `datasets.splits`, `datasets.standardise` and `datasets.records`.
"""
