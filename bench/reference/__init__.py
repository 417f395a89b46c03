"""Reference posteriors, exact or sampled, and distances of approximations from them. Imports `bench.engine`."""
