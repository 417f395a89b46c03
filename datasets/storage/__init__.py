"""Files on disk: where they are, how they are downloaded, unpacked and verified. Imports the records and errors of
`datasets`.
"""
