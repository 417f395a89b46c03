"""Reference posteriors, exact or sampled, and distances of approximations from them.

Imports allowed here: `bench.engine`.
"""
