"""Console output of a run: plan, progress, closing table, and what Ctrl-C does. Imports every room below."""
