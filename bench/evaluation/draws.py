"""Functions drawn from a fit, and the noise of targets around them, as decisions use them."""

import numpy as np

from lockstep_bench.bench.metrics.regression import moments
from lockstep_bench.methods.maths.predictive import Classes, NormalMixtures, Normals, Predictive, StudentT


def means(predictive: Predictive) -> np.ndarray:
    """Return the mean (S, n) of each sample's predictive at each point, in original target units.

    A predictive that is not a mixture over samples has one mean per point, (1, n).
    """
    if isinstance(predictive, Normals):
        mean = predictive.mean
    elif isinstance(predictive, StudentT):
        mean = predictive.location
    elif isinstance(predictive, NormalMixtures):
        mean = (predictive.log_weights.exp() * predictive.means).sum(dim=2)
    else:
        assert not isinstance(predictive, Classes)  # rewards and targets are real numbers
        mean = moments(predictive).mean[None]
    return mean.cpu().numpy()


def noise_variance(predictive: Predictive) -> np.ndarray:
    """Return the variance (n,) of the target around a drawn function, mean over the samples, original units squared."""
    if isinstance(predictive, Normals):
        variance: np.ndarray = predictive.variance.double().mean(dim=0).cpu().numpy()
        return variance
    assert not isinstance(predictive, Classes)
    between = means(predictive).astype(np.float64).var(axis=0)
    noise: np.ndarray = moments(predictive).variance.cpu().numpy() - between
    return noise
