"""Suites, protocols, requests, cells and jobs: what a run consists of.

Imports `bench.engine`, `bench.environment`, `bench.schema`, `datasets` and `methods`; torch only where a task is made.
"""
