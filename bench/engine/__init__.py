"""Training: many small fits in lockstep as one stacked computation, or one large network at a time.

Imports `methods` and `datasets`.
"""
