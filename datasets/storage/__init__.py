"""Files of data sets on disk: location, download, unpacking, verification.

This package imports the records, errors and registry of `datasets`.
"""
