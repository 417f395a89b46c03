"""Data with a known answer: factor models, streams, models with a known posterior, the toy task.

Imports `datasets.tabular`, `datasets.splits` and `datasets.records`.
"""
