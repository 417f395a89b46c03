"""Wrappers of other libraries of approximate inference, for `python -m benchmarks.conformance_of_others`.

One module wraps one library and states the version it was written for. Each is installed in an environment of its own,
because their requirements differ. `conformance.csv` has the kept outcomes of the checks, `failures.toml` says where
each failure lies, and `reproducers/` shows each with the library alone.

Imports allowed here: `lockstep_bench.methods`, and in each module its library.
"""
