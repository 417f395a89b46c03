"""Methods on a user's own arrays: tune, fit, predict at new inputs, save.

The module `estimators` offers these steps as scikit-learn estimators, the modules `training` and `posterior` as
functions.

Imports allowed here: `bench.evaluation` and what that imports.
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
