"""The tables and figures of the papers, each as runs of suites: one TOML file per paper. Imports nothing else."""
