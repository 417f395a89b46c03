"""Deep ensemble: independently trained MAP networks whose predictives are pooled.

Each member minimises MAP's objective from its own initial weights and with its own order of minibatches; the
predictive is the equal mixture of the members' (Lakshminarayanan et al. 2017, without adversarial training).
"""

from methods.base import Paper
from methods.map import MAP


class DeepEnsemble(MAP):
    """Five MAP networks that share hyper-parameters: `lr`, `prior_precision` and the likelihood's."""

    name = "deep-ensemble"
    title = "Deep ensemble"
    paper = Paper(
        "Lakshminarayanan et al. 2017", "Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles"
    )
    members = 5
