"""The floor that runs and pages share: schema, reader, protocol, entries of the papers, and what commands have.

Imports nothing else of this project, and no torch.
"""
