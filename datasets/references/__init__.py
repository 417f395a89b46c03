"""Posteriors of networks: their definitions, and the kept draws of their functions.

Imports allowed here: the rooms of `datasets` that read data sets.
"""
