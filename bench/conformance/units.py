"""Check that predictions of a regression are in the units of its targets, by changing the targets' scale and offset."""

from dataclasses import replace

import numpy as np

from lockstep_bench.bench.conformance.examined import Examined, on_every_task, require
from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.bench.metrics.regression import moments
from lockstep_bench.methods.maths.likelihoods import Gaussian, StudentTNoise
from lockstep_bench.methods.maths.predictive import Classes, Predictive
from lockstep_bench.methods.problem import Task

# Powers of two. The first targets are whole multiples of such a power, with a training mean of 0, so that both sets of
# targets give the same standardised ones to the last bit, and a sampler, which amplifies rounding, the same fit.
SCALE, OFFSET = 64.0, 1024.0
TOLERANCE = 0.001  # of standard deviations: of the targets for means, relative for spreads


@on_every_task
def keeps_the_units_of_its_targets(examined: Examined, task: Task) -> str:
    """Check that predictions follow when targets y change to `SCALE` y + `OFFSET`.

    Predicted means must change like the targets, and predicted standard deviations by the factor `SCALE`.
    """
    if not task.likelihood.standardises:
        return "not applicable: classes have no units"
    likelihood = task.likelihood
    if isinstance(likelihood, Gaussian | StudentTNoise):  # the noise precision is in units of 1 / y^2
        low, high = likelihood.noise_precisions
        likelihood = replace(likelihood, noise_precisions=(low / SCALE**2, high / SCALE**2))
    data = examined.data_of(task)
    changed = Data(data.x, SCALE * data.y + OFFSET)
    (moved,) = examined.predictives(
        examined.train(replace(task, likelihood=likelihood), (0,), stacked=False, data=changed)
    )
    (mean, sd), (moved_mean, moved_sd) = map(_moments, (examined.single_fit(task, 0), moved))
    y_sd = float(data.y.std(correction=0))
    off = float(np.abs((moved_mean - OFFSET) / SCALE - mean).max() / y_sd)
    spread = float(np.abs(moved_sd / SCALE / sd - 1).max())
    unchanged = float(np.abs(moved_mean - mean).max() / y_sd) < TOLERANCE
    cause = "Predictions are unchanged, so they are of standardised targets" if unchanged else "Units are mixed"
    require(
        off < TOLERANCE and spread < TOLERANCE,
        f"with targets {SCALE:g} times as large plus {OFFSET:g}, predictions should be so too, and their standard "
        f"deviations {SCALE:g} times as large. Means are off by {off:.2g} standard deviations of the targets, and "
        f"standard deviations by {spread:.2g} (relative); allowed are {TOLERANCE:g}. {cause}. Return the mean "
        "`problem.y_mean + problem.y_scale * f` and the variance `problem.y_scale**2 * v` of a standardised mean f and "
        "variance v",
    )
    return f"those of targets {SCALE:g} times as large plus {OFFSET:g} follow them"


def _moments(predictive: Predictive) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of a predictive at the test rows, (n,) each."""
    assert not isinstance(predictive, Classes)
    mean, variance = moments(predictive)
    return mean.numpy(), variance.sqrt().numpy()
