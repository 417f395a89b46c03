"""Mixing of a sampler's chains: R-hat and effective sample size of their predictions and log posterior.

The weights of a network have symmetric modes, and no chain visits all of them. Chains are therefore compared by their
predictions.
"""

import numpy as np
import torch

from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive, StudentT
from lockstep_bench.methods.mcmc.diagnostics import effective_sample_size, r_hat

EXAMPLES = 100  # training examples whose predictions are compared, at most
ALL = 1_000_000  # more draws than a chain keeps
LEAST_DRAWS = 4


def with_mixing(reported: list[dict[str, float]], fits: TrainedFits) -> list[dict[str, float]]:
    """Add diagnostics of mixing to the diagnostics `reported` of each fit, if the method is a sampler.

    `r_hat` is the largest, and `effective_draws` the smallest value over the predictions at 100 training examples.
    These predictions are means, log variances or scales, or log probabilities. `r_hat_median` and
    `effective_draws_median` are the medians over them. The same diagnostics of the log posterior are added if the
    posterior has a field `log_posteriors`, with the value at each draw. Nothing is added for large networks, or if
    predictions are not finite.
    """
    if not fits.method.chains or not isinstance(fits, StackedFits):
        return reported
    rows = [fit.rows[:: -(-len(fit.rows) // EXAMPLES)].copy() for fit in fits.fits]
    members = fits.method.members
    predictions = [_by_chain(each, members) for each in fits.predict(rows, ALL * members)]
    if predictions[0].shape[1] < LEAST_DRAWS:
        return reported
    measured = [_of_predictions(each) for each in predictions]
    log_posteriors = getattr(fits.posterior, "log_posteriors", None)
    if log_posteriors is not None:
        chains = torch.unflatten(log_posteriors, 0, (-1, members)).cpu().numpy()
        measured = [values | _of_log_posterior(each) for values, each in zip(measured, chains, strict=True)]
    return [values | mixing for values, mixing in zip(reported, measured, strict=True)]


def _by_chain(predictive: Predictive, members: int) -> np.ndarray:
    """Return predicted numbers (chains, draws, ...)."""
    assert isinstance(predictive, Normals | StudentT | Classes)
    if isinstance(predictive, Normals):
        numbers = torch.stack([predictive.mean, predictive.variance.log()], dim=-1)
    elif isinstance(predictive, StudentT):
        numbers = torch.stack([predictive.location, predictive.scale.log()], dim=-1)
    else:
        numbers = predictive.log_probs
    return torch.unflatten(numbers, 0, (members, -1)).cpu().numpy()


def _of_predictions(values: np.ndarray) -> dict[str, float]:
    if not np.isfinite(values).all():
        return {}
    moving = values.reshape(*values.shape[:2], -1)
    moving = moving[:, :, np.ptp(moving, axis=(0, 1)) > 0]  # a constant noise variance says nothing
    if not moving.size:
        return {}
    rates, sizes = r_hat(moving), effective_sample_size(moving)
    return {
        "r_hat": float(rates.max()),
        "r_hat_median": float(np.median(rates)),
        "effective_draws": float(sizes.min()),
        "effective_draws_median": float(np.median(sizes)),
    }


def _of_log_posterior(values: np.ndarray) -> dict[str, float]:
    return {
        "r_hat_log_posterior": float(r_hat(values)),
        "effective_draws_log_posterior": float(effective_sample_size(values)),
    }
