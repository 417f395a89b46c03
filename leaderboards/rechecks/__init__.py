"""Rechecks: kept cells are run again, and their numbers compared with those of today's code.

Imports `leaderboards.replications` and below. Cells are run by `run_all.py`, in processes of their own.
"""
