"""Training: many small fits in lockstep as one batched computation, or one large network at a time.

Imports allowed here: `methods` and `datasets`.
"""
