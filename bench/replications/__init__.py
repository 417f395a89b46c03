"""Replications: the tables and figures of the papers, each as runs of suites, one TOML file per paper.

Imports `bench.experiment`. Nothing here imports torch before cells are resolved.
"""
