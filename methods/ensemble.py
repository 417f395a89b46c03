"""Ensemble of any method: independently trained members whose predictives are pooled.

Each member is a fit of the inner method with its own initial state, noise and order of minibatches; all share their
hyper-parameters. The predictive is the equal mixture of the members' (Lakshminarayanan et al. 2017; of approximate
posteriors, as in Wilson and Izmailov 2020).
"""

from copy import copy

from methods.base import Method, Paper

MEMBERS = 5


def ensemble_of(method: Method) -> Method:
    """`ensemble:NAME` for the method called NAME, which must have one member.

    It is a copy of the instance with another name and number of members, so every hook is the inner method's own.
    """
    if method.members > 1:
        raise ValueError(f"{method.name!r} is an ensemble of {method.members} itself")
    ensemble = copy(method)
    ensemble.name = f"ensemble:{method.name}"
    ensemble.title = f"Ensemble of {MEMBERS} x {method.title}"
    ensemble.paper = Paper(
        "Lakshminarayanan et al. 2017", "Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles"
    )
    ensemble.members = MEMBERS
    return ensemble
