"""Mathematics shared by the methods: Gaussians, factor analysis, gradients, priors, likelihoods, search spaces.

Imports nothing else of `methods`.
"""
