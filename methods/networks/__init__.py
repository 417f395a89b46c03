"""Neural networks as functions of one flat weight vector, and their layers. This package imports `methods.maths`."""
