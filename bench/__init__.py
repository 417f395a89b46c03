"""The benchmark itself, in rooms: what is run, how it is trained, judged, executed and stored.

Imports point down (pyproject.toml).
"""
