"""Files on disk: location, download, unpacking, verification.

Imports the records, errors and registry of `datasets`.
"""
