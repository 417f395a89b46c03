"""Risk against coverage: the loss on the points that a predictive is most certain of.

Points are accepted in the order of their uncertainty: at coverage k / n, the k most certain ones. Points of equal
uncertainty share what is left of k equally, which is the expectation over random orders among them.
"""

import numpy as np

from lockstep_bench.shared.uncertainty.numbers import without_nan


def generalised_risk(uncertainty: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return the losses of the k accepted points summed and divided by n, for k = 1, ..., n: (n,).

    For the loss 1{wrong} it is the probability of a silent failure: that a point is accepted and wrong (Traub et al.
    2024). Divided by the coverage k / n it is the selective risk, the mean loss of the accepted points.

    Args:
        uncertainty: (n,), any increasing function of it.
        loss: (n,).

    Raises:
        ValueError: A value is NaN, or there is no point.
    """
    n = len(without_nan(loss, "losses"))
    if not n:
        raise ValueError("risk against coverage needs at least one point")
    _, group = np.unique(without_nan(uncertainty, "uncertainties"), return_inverse=True)
    mean_loss = np.bincount(group, loss) / np.bincount(group)
    return np.cumsum(mean_loss[np.sort(group)]) / n


def aurc(uncertainty: np.ndarray, loss: np.ndarray) -> float:
    """Return the area under the risk-coverage curve: the mean of the selective risk over k = 1, ..., n.

    Geifman et al. (2019) give this estimate. Arguments and errors are those of `generalised_risk`.
    """
    risk = generalised_risk(uncertainty, loss)
    return float((risk / coverage(len(risk))).mean())


def augrc(uncertainty: np.ndarray, loss: np.ndarray) -> float:
    """Return the area under the generalised risk-coverage curve (Traub et al. 2024), a line between its points.

    For the loss 1{wrong} with an error rate r it is (1 - AUROC) r (1 - r) + r^2 / 2, where AUROC is that of detecting
    wrong points by their uncertainty. Half the mean loss is that of an uncertainty without information.
    Arguments and errors are those of `generalised_risk`.
    """
    risk = generalised_risk(uncertainty, loss)
    return float(risk.mean() - risk[-1] / (2 * len(risk)))


def coverage(n: int) -> np.ndarray:
    """Return the coverages k / n, (n,)."""
    return np.arange(1, n + 1) / n
