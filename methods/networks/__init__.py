"""Networks as functions of one flat weight vector, and the layers they are made of. Imports `methods.maths`."""
