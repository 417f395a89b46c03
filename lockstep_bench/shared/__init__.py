"""Code that runs and result pages share: result schema, results reader, protocols, papers' tables, command lines.

Imports allowed here: nothing else of this project, and no torch.
"""
