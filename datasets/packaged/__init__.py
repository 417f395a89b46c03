"""Data sets that other packages ship. Their files are read where the package is installed; nothing is downloaded.

Imports allowed here: `datasets.own`, `datasets.tabular`, `datasets.splits` and `datasets.records`, and, when a set is
read, pandas. The packages that ship the sets are never imported.
"""
