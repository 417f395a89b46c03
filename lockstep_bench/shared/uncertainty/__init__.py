"""Measures of uncertainty from arrays: calibration errors, uniformity of the PIT, risk-coverage curves.

This package imports `shared.schema` and no torch. Evaluations and result pages use the same functions.
"""
