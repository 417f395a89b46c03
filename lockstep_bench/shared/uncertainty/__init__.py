"""Calibration errors, uniformity of the PIT and risk against coverage, from arrays. Imports `shared.schema`.

Nothing here imports torch, so pages compute the same numbers as evaluations.
"""
