"""Data sets with fixed splits."""
