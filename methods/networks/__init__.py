"""Neural networks as functions of one flat weight vector, and their layers.

Imports allowed here: `methods.maths`.
"""
