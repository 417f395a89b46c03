"""Published tables and figures, with the runs that replicate each of them: one TOML file per paper.

Imports allowed here: nothing else of this project.
"""
