"""Methods on one's own arrays: tune, fit, predict at new inputs, save. Imports `bench.evaluation` and what is below it.

`estimators` has these as scikit-learn estimators, `training` and `posterior` as functions.
"""

from lockstep_bench.bench.arrays.data import Arrays, classification, registered, regression
from lockstep_bench.bench.arrays.posterior import Posterior
from lockstep_bench.bench.arrays.storage import load, save
from lockstep_bench.bench.arrays.training import fit, protocol_of, tune

__all__ = [
    "Arrays",
    "Posterior",
    "classification",
    "fit",
    "load",
    "protocol_of",
    "registered",
    "regression",
    "save",
    "tune",
]
