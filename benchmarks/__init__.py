"""Measurements of the benchmark itself: time of an update, overhead of a run, memory of estimators, growth with size.

The package is part of the repository but not of the wheel. It may import all other packages; none imports it.
"""
