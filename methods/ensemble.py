"""Ensemble of any method: independently trained members with pooled predictives.

Each member is a fit of the inner method with its own initial state, noise and order of minibatches. All members share
their hyper-parameters. The predictive is the equally weighted mixture of the members' predictives (Lakshminarayanan et
al. 2017; Wilson and Izmailov 2020 for approximate posteriors).
"""

from copy import copy

from lockstep_bench.methods.api import Method, Paper

MEMBERS = 5


def ensemble_of(method: Method, members: int = MEMBERS) -> Method:
    """Return the ensemble of a method, `ensemble:NAME`: a copy of the method with several members.

    Args:
        method: a method with a single member.
        members: number of members.

    Raises:
        ValueError: the method is an ensemble itself, or its members would all be equal.
    """
    if method.deterministic:
        raise ValueError(f"{method.name!r} draws no random numbers, so that all members would be equal")
    if method.members > 1:
        raise ValueError(f"{method.name!r} is an ensemble of {method.members} itself; name a method with one member")
    ensemble = copy(method)
    ensemble.name = f"ensemble:{method.name}"
    ensemble.title = f"Ensemble of {members} x {method.title}"
    ensemble.paper = Paper(
        "Lakshminarayanan et al. 2017", "Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles"
    )
    ensemble.members = members
    return ensemble
