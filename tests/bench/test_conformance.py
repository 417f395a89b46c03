"""The conformance suite passes good adapters and fails broken ones, each by the right check."""

import re

import pytest
import torch

from bench.conformance import RULES, check
from methods.base import Method
from methods.map import MAP
from methods.mfvi import MeanFieldVI
from methods.vifa import VIFA

QUICK = [title for title in RULES if title not in ("cost", "conjugate posterior")]


def failures(method: Method, monkeypatch, rules=QUICK) -> dict[str, str]:
    monkeypatch.setattr("bench.conformance.RULES", {title: RULES[title] for title in rules})
    return {finding.check: finding.detail for finding in check(method) if not finding.passed}


@pytest.mark.parametrize("method", [VIFA(), MAP()], ids=lambda method: method.name)
def test_good_adapters_pass(method, monkeypatch):
    assert failures(method, monkeypatch) == {}


def test_a_wrapper_round_a_foreign_library_passes(foreign_library, monkeypatch):
    assert failures(foreign_library, monkeypatch) == {}


class TwiceTheNoise(MeanFieldVI):
    """Trains as if the noise were twice as large as it is."""

    def sample(self, problem, posterior, noise, n_samples):
        mean, log_sd = posterior
        return mean + 2 * log_sd.exp() * noise.normal(n_samples, problem.dim)


class GlobalDraw(MeanFieldVI):
    """Starts from the global generator's numbers."""

    def init(self, problem, hparams, noise):
        state = super().init(problem, hparams, noise)
        return state._replace(params=state.params + torch.randn(problem.dim, dtype=state.params.dtype))


class LeaksRows(MAP):
    """Branches on a tensor's value, which has no meaning for a stack."""

    def update(self, problem, state, batch, hparams, noise, t):
        if state.weights.sum() > 0:
            return super().update(problem, state, batch, hparams, noise, t)
        return state


class NegativeVariance(MAP):
    def predict(self, problem, posterior, x, hparams, noise, n_samples):
        found = super().predict(problem, posterior, x, hparams, noise, n_samples)
        return found._replace(variance=-found.variance)


class Explodes(MAP):
    def update(self, problem, state, batch, hparams, noise, t):
        state = super().update(problem, state, batch, hparams, noise, t)
        return state._replace(weights=state.weights / (hparams.lr < 0.02))


@pytest.mark.parametrize(
    ("method", "check_title", "complaint"),
    [
        (GlobalDraw(), "deterministic", "global generator|vmap"),
        (LeaksRows(), "stack equals alone", "vmap"),
        (NegativeVariance(), "predictive is a density", "not positive"),
        (Explodes(), "finite over its search space", "not finite after 60 updates"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Method) else "",
)
def test_broken_adapters_fail_by_name(method, check_title, complaint, monkeypatch):
    found = failures(method, monkeypatch)
    assert check_title in found
    assert re.search(complaint, found[check_title])


def test_a_wrong_scale_of_the_noise_is_seen_at_the_conjugate_posterior(monkeypatch):
    found = failures(TwiceTheNoise(), monkeypatch, ["conjugate posterior"])
    assert "x the exact one" in found["conjugate posterior"]
