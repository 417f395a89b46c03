"""Data sets of OpenML's tasks: a list of them, and their download, reading and splits.

Imports allowed here: `datasets.own`, `datasets.records`, `datasets.errors` and `datasets.learned`, and, when a set is
read, pandas.
"""
