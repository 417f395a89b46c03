"""Leaderboards: result Parquet in; HTML, CSV and plots out. Imports no torch."""
