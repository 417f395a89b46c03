"""Approximate-inference methods: one file per method, `base.py` for the contract."""
