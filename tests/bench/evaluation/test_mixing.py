"""Mixing of chains, against ArviZ on the same numbers."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch

from lockstep_bench.bench.engine.sequential_fits import SequentialFits
from lockstep_bench.bench.evaluation.mixing import _by_chain, _of_predictions, with_mixing
from lockstep_bench.bench.reference.conjugate import orthogonal, strong_prior
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.methods.mcmc.diagnostics import effective_sample_size, r_hat
from lockstep_bench.methods.mile import MILE


def test_predictions_are_grouped_by_chain():
    mean = torch.arange(12.0).reshape(6, 2)  # two chains of three draws, at two points
    values = _by_chain(Normals(mean, torch.ones_like(mean)), 2)
    assert values.shape == (2, 3, 2, 2)
    assert values[1, 0, :, 0].tolist() == [6, 7]


def test_constant_predictions_do_not_enter_r_hat():
    varying = np.random.default_rng(0).standard_normal((2, 50, 3))
    values = np.stack([varying, np.ones_like(varying)], axis=-1)
    found = _of_predictions(values)
    assert found["r_hat"] == pytest.approx(float(r_hat(varying).max()))
    assert found["effective_draws"] == pytest.approx(float(effective_sample_size(varying).min()))


@pytest.mark.slow
def test_linear_model_chains_have_r_hat_near_one():
    problem = strong_prior(0, dim=3)
    fits = problem.fit(
        MILE(warmup=1000, draws=1000, thinning=20), 200, 10, range(4), lr=3e-3
    )  # compiled for another test
    found = with_mixing([{"step": float(number)} for number in range(4)], fits)
    assert [values["step"] for values in found] == [0, 1, 2, 3]
    for values in found:
        assert 0.99 < values["r_hat_median"] <= values["r_hat"] < 1.1
        assert 100 < values["effective_draws"] <= values["effective_draws_median"]
        assert values["r_hat_log_posterior"] < 1.1


@pytest.mark.parametrize("number", [1.0, np.nan, np.inf])
def test_constant_or_nonfinite_predictions_have_no_mixing_diagnostics(number):
    assert _of_predictions(np.full((2, 10, 3, 2), number)) == {}


def test_large_networks_have_no_mixing_diagnostics():
    """Large networks would compute one draw after the other."""
    fits = Mock(spec=SequentialFits, method=MILE())
    assert with_mixing([{"a": 1.0}], fits) == [{"a": 1.0}]
    assert not fits.predict.called


def test_methods_without_chains_have_no_mixing_diagnostics():
    problem = orthogonal(0, dim=3)
    fits = problem.fit(MAP(), 20, 10, lr=3e-3)
    assert with_mixing([{"a": 1.0}], fits) == [{"a": 1.0}]
