"""True posteriors, exact or sampled, and distances to them. Imports `bench.engine`."""
