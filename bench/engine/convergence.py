"""Convergence of a fit: the gain of its training objective in the last tenth of training.

A method's updates report its objective during training, in nats for all training rows: "objective", which is minimised,
or "elbo", which is maximised. Values in the last tenth of training are compared with values a tenth of training
earlier. The gain is the mean improvement per training row, in nats, with its standard error. If fits are trained side
by side, both values of a pair are computed on the same minibatch with the same random numbers, so that most of their
noise cancels.

A fit is *still improving* if the gain is above `LEAST_GAIN`, the last digit that tables show of an NMLL, and
significantly above zero: above the 97.5 % point of Student's t times its standard error. Otherwise it has converged, as
far as the noise of minibatches allows one to see.
"""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from lockstep_bench.bench.engine.training_record import Trace, pairs

SIGNS = {"objective": 1.0, "elbo": -1.0}  # by diagnostic; an objective times its sign is minimised
LEAST_GAIN = 0.01  # nats per training row
CERTAINTY = 0.975


class Gain(NamedTuple):
    """Gain of the training objective over the last tenth of training, nats per training row.

    Attributes:
        mean: mean gain; above 0 if the objective became better.
        stderr: standard error of the mean.
        n_pairs: number of pairs of values that the mean is taken over.
    """

    mean: float
    stderr: float
    n_pairs: int

    @property
    def still_improving(self) -> bool:
        """True if the gain is above `LEAST_GAIN` and significantly above zero."""
        least = stdtrit(self.n_pairs - 1, CERTAINTY) * self.stderr
        return bool(self.mean > max(LEAST_GAIN, least))


def gain_of(traces: Mapping[str, Trace], n_updates: int, n_rows: int) -> Gain | None:
    """Return the gain of a fit; None if its method reports no finite objective, or trained for too few updates.

    Args:
        traces: values of the fit's diagnostics during training, by name.
        n_updates: number of updates of the fit.
        n_rows: number of training rows of the fit.
    """
    for name, sign in SIGNS.items():
        if name in traces:
            differences = sign * _differences(traces[name], n_updates) / n_rows
            if len(differences) < 2 or not np.isfinite(differences).all():
                return None
            stderr = float(differences.std(ddof=1)) / sqrt(len(differences))
            return Gain(float(differences.mean()), stderr, len(differences))
    return None


def convergence(traces: Mapping[str, Trace], n_updates: int, n_rows: int) -> dict[str, float]:
    """Return diagnostics of a fit's convergence, as they are stored with its result; {} if its gain is unknown.

    `objective_gain` and `objective_gain_stderr` are in nats per training row; `still_improving` is 1 or 0.
    """
    gain = gain_of(traces, n_updates, n_rows)
    if gain is None:
        return {}
    return {
        "objective_gain": gain.mean,
        "objective_gain_stderr": gain.stderr,
        "still_improving": float(gain.still_improving),
    }


def _differences(trace: Trace, n_updates: int) -> np.ndarray:
    """Return the value at the earlier update minus the value at the later one, for each recorded pair of updates."""
    values = dict(zip(trace.updates.tolist(), trace.values.tolist(), strict=True))
    recorded = [(earlier, later) for later, earlier in pairs(n_updates).items() if {earlier, later} <= values.keys()]
    return np.array([values[earlier] - values[later] for earlier, later in recorded])
