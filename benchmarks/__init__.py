"""Measurements of the benchmark itself: time of an update, overhead of a run, memory of estimators, growth with size.

A package of the repository, which the wheel leaves out. Imports anything; nothing imports it.
"""
