"""Measures of uncertainty from arrays: calibration errors, uniformity of the PIT, risk-coverage curves.

Evaluations and result pages use the same functions, so no module imports torch. Imports allowed here: `shared.schema`.
"""
