"""The mathematics that methods share: Gaussians, factor analysis, gradients, priors, likelihoods, search spaces.
Imports
nothing else of `methods`.
"""
