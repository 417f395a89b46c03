"""The evidence lower bound (ELBO) of final fits, estimated with weight samples on their own training examples.

    ELBO / N = E_q[1/N sum_n log p(y_n | x_n, theta)] - KL(q || p) / N

For all methods, the expectation is estimated with the same number of weight samples at the same training examples,
whatever objective a method trains with. Bounds of different approximations can therefore be compared.
"""

from collections.abc import Mapping

import numpy as np

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.bench.engine.trained import TrainedFits

EXAMPLES = 1000  # training examples that the expectation is averaged over, at most
SAMPLES = 100  # weight samples, at most
DIVERGENCES = {"elbo": "kl", "tempered_elbo": "tempered_kl"}


def with_elbos(
    reported: list[dict[str, float]], fits: TrainedFits, data: Data, n_samples: int
) -> list[dict[str, float]]:
    """Add the ELBO to each fit's diagnostics: `elbo` if there is `kl`, and `tempered_elbo` if there is `tempered_kl`.

    Args:
        reported: the diagnostics of each fit, name -> value; `kl` is the divergence from the prior in nats per training
            example.
        fits: the trained fits.
        data: the data that the fits were trained on.
        n_samples: number of weight samples for the expectation; at most `SAMPLES` are drawn.

    Returns:
        Copies of the dictionaries with the ELBOs, in nats per training example. Densities are those of targets in
        original units.
    """
    if "kl" not in reported[0]:
        return reported
    rows = [_evenly_spaced(fit.rows) for fit in fits.fits]
    predictives = fits.sampling().predict(rows, min(n_samples, SAMPLES))
    expected = [
        metrics.expected_log_density(predictive, data.y[fit_rows].to(predictive[0].device))
        for predictive, fit_rows in zip(predictives, rows, strict=True)
    ]
    return [values | _elbos(values, density) for values, density in zip(reported, expected, strict=True)]


def _evenly_spaced(rows: np.ndarray) -> np.ndarray:
    return rows[:: -(-len(rows) // EXAMPLES)].copy()  # torch warns of arrays that cannot be written


def _elbos(values: Mapping[str, float], expected: float) -> dict[str, float]:
    return {name: expected - values[divergence] for name, divergence in DIVERGENCES.items() if divergence in values}
