"""Files of data sets on disk: location, download, unpacking, verification.

Imports allowed here: the records, errors and registry of `datasets`.
"""
