"""Kept cells run again: does today's code still give the numbers that are kept?

Imports `leaderboards.replications` and below. Cells are run by `run_all.py`, in processes of their own.
"""
