"""What a run consists of: suites, protocols, cells, jobs, and what was asked for.

Imports no torch when it is imported.
"""
