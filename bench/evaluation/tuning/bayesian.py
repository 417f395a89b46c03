"""Bayesian optimisation with a Gaussian process, in which the scores of diverged trials are capped."""

import warnings
from collections.abc import Mapping
from statistics import median
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import GPSampler
from optuna.trial import FrozenTrial, TrialState, create_trial

CAP = 3.0  # the worst score that the process sees lies this many times as far from the best as the median does


def proposal(study: optuna.Study, space: Mapping[str, BaseDistribution], n_random: int, seed: int) -> dict[str, Any]:
    """Return the hyper-parameters to try next, by the expected improvement of Optuna's `GPSampler`.

    The sampler fits a Gaussian process to standardised scores. A single score of a diverged trial, such as 1e5 among
    scores near 2, would make all others look alike. Scores are therefore capped, and failed trials get the cap as their
    score.

    Args:
        study: The trials so far.
        space: Distributions by hyper-parameter.
        n_random: Proposals are random until there are this many usable trials.
        seed: Seed of the proposal, which is deterministic given the trials.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # of Optuna 4
        sampler = GPSampler(seed=seed, n_startup_trials=n_random)
    seen = optuna.create_study(direction="minimize", sampler=sampler)
    seen.add_trials(_capped(study.get_trials(deepcopy=False)))
    return seen.ask(dict(space)).params


def _capped(trials: list[FrozenTrial]) -> list[FrozenTrial]:
    """Return finished trials as completed ones, with scores capped; an empty list if all trials failed."""
    scores = [trial.value for trial in trials if trial.state == TrialState.COMPLETE and trial.value is not None]
    if not scores:
        return []
    cap = min(scores) + CAP * (median(scores) - min(scores))
    return [
        create_trial(
            params=trial.params,
            distributions=trial.distributions,
            value=min(cap, trial.value) if trial.state == TrialState.COMPLETE and trial.value is not None else cap,
        )
        for trial in trials
        if trial.state.is_finished()
    ]
