"""Risk-coverage curves: the loss on the points that a predictive is most certain about.

At coverage k / n, the k most certain of n points are accepted. Points of equal uncertainty are accepted in random
order, and the loss is the expectation over this order.
"""

import numpy as np

from lockstep_bench.shared.uncertainty.numbers import without_nan


def generalised_risk(uncertainty: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return the generalised risk, the summed loss of the k most certain points divided by n, for k = 1, ..., n: (n,).

    For the loss 1{wrong} it is the probability of a silent failure: that a point is accepted and wrong (Traub et al.
    2024). Divided by the coverage k / n it is the selective risk, the mean loss of the accepted points.

    Args:
        uncertainty: (n,), uncertainty of each point; only the order of its values matters.
        loss: (n,), loss at each point.

    Raises:
        ValueError: A value is NaN, or the arrays are empty.
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
    """Return the area under the generalised risk-coverage curve (Traub et al. 2024), by the trapezoid rule.

    For the loss 1{wrong} with an error rate r it is (1 - AUROC) r (1 - r) + r^2 / 2, with the AUROC of detecting wrong
    points by their uncertainty. An uninformative uncertainty gives half the mean loss. Arguments and errors are those
    of `generalised_risk`.
    """
    risk = generalised_risk(uncertainty, loss)
    return float(risk.mean() - risk[-1] / (2 * len(risk)))


def coverage(n: int) -> np.ndarray:
    """Return the coverages k / n for k = 1, ..., n: (n,)."""
    return np.arange(1, n + 1) / n
