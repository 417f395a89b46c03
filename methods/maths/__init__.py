"""Mathematics shared by the methods: Gaussians, factor analysis, gradients, priors, likelihoods, search spaces.

Imports allowed here: nothing from the rest of `methods`.
"""
