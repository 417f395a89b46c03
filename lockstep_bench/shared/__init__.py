"""The floor that runs and pages share: the schema and its reader, the protocol, the papers' entries, and what commands have.

Imports nothing else of this project, and no torch.
"""
