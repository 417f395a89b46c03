"""The reference sampler NUTS and diagnostics of its chains. Imports `methods.networks` and `methods.maths`."""
