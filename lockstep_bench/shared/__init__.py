"""Code that runs and result pages share: result schema, results reader, protocols, papers' tables, command lines.

This package imports nothing else of this project, and no torch.
"""
