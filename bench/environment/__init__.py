"""The machine, the process, its memory and the provenance of results. Imports nothing else of `bench`."""
