"""Mathematics shared by the methods: Gaussians, factor analysis, gradients, priors, likelihoods, search spaces.

This package imports nothing from the rest of `methods`.
"""
