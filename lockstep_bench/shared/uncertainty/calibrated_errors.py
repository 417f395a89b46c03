"""Calibration errors that a perfectly calibrated classifier with the same predictions would have.

On finitely many points, a calibration error is above 0 by chance even for a calibrated classifier. Its distribution
under calibration follows by drawing labels from the predicted probabilities (consistency resampling, Bröcker and Smith
2007; as a test of calibration, Vaicenavicius et al. 2019).
"""

import numpy as np

from lockstep_bench.shared.uncertainty.calibration_error import (
    at_once,
    ece_20_of,
    ece_classwise_of,
    ece_equal_mass_of,
    ece_of,
)
from lockstep_bench.shared.uncertainty.numbers import without_nan

DRAWS = 500
SEED = 0


def calibrated_errors(probabilities: np.ndarray) -> dict[str, float]:
    """Return the mean of each calibration error when labels are drawn from the probabilities (n, C), `DRAWS` times.

    Returns:
        `ece_null`, `ece_equal_mass_null`, `ece_20_null` and `ece_classwise_null`; and `ece_null_95`, the 95 % quantile
        of the draws of `ece`. The seed is fixed, and the order of the points does not matter.
    """
    probabilities = without_nan(probabilities, "probabilities")
    probabilities = probabilities[np.lexsort(probabilities.T)]
    confidence, predicted = probabilities.max(1), probabilities.argmax(1)
    of_correct = {
        "ece": ece_of(confidence),
        "ece_equal_mass": ece_equal_mass_of(confidence),
        "ece_20": ece_20_of(confidence),
    }
    classwise = ece_classwise_of(probabilities)
    upper = probabilities.cumsum(1)[:, :-1]  # the last class takes what rounding leaves of 1
    generator = np.random.default_rng(SEED)
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in (*of_correct, "ece_classwise")}
    for count in at_once(DRAWS, len(upper)):
        uniform = generator.uniform(size=(count, len(upper)))
        labels = np.zeros(uniform.shape, int)
        for bound in upper.T:
            labels += bound <= uniform
        for name, errors in of_correct.items():
            drawn[name].append(errors(labels == predicted))
        drawn["ece_classwise"].append(classwise(labels))
    draws = {name: np.concatenate(parts) for name, parts in drawn.items()}
    means = {f"{name}_null": float(values.mean()) for name, values in draws.items()}
    return means | {"ece_null_95": float(np.quantile(draws["ece"], 0.95))}
