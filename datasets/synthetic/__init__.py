"""Data of known truth: factor models, streams, models with a known posterior, the toy task. Imports
`datasets.tabular`.
"""
