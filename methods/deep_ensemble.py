"""Deep ensemble: independently trained MAP networks with pooled predictives.

Each member minimises the MAP objective from its own initial weights and with its own order of minibatches. The
predictive is the equally weighted mixture of the members' predictives (Lakshminarayanan et al. 2017, without
adversarial training).
"""

from lockstep_bench.methods.base import Paper
from lockstep_bench.methods.map import MAP


class DeepEnsemble(MAP):
    """Five MAP networks that share hyper-parameters: `lr`, `prior_precision` and the likelihood's."""

    name = "deep-ensemble"
    title = "Deep ensemble"
    paper = Paper(
        "Lakshminarayanan et al. 2017", "Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles"
    )
    members = 5
    spread_caveat = "all members find the one mode of a linear model"
