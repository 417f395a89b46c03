"""Information on the machine, the process, its memory, and the provenance of results.

This package imports nothing else of `bench`.
"""
