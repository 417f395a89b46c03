"""Information on the machine, the process, its memory, and the provenance of results.

Imports allowed here: nothing else of `bench`.
"""
