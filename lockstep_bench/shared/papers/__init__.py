"""Published tables and figures, with the runs that replicate each of them: one TOML file per paper."""
