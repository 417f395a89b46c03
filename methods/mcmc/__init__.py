"""The reference sampler, NUTS, and its diagnostics. Imports `methods.networks` and `methods.maths`."""
