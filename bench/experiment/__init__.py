"""Suites, protocols, requests, cells and jobs: what a run consists of.

Imports `bench.engine`, `bench.environment`, `shared.schema`, `datasets` and `methods`; torch only where a task is made.
"""
