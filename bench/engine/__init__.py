"""Training: many small fits in lockstep as one batched computation, or one large network at a time.

This package imports `methods` and `datasets`.
"""
