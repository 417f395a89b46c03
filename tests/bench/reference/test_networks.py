"""Draws of networks' functions: their samplers against closed forms, and their agreement against known chains."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.reference.networks import MAX_R_HAT, agreement, drawn_by_hmc, drawn_by_nuts, part_of
from lockstep_bench.bench.reference.posterior import exact
from lockstep_bench.bench.reference.problem import Part
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.networks.mlp import MLP

SHORT = "hmc-leapfrog(chains=16,warmup=60,draws=100,steps=16)"


def linear() -> tuple[Part, np.ndarray]:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((30, 2))
    y = x @ [1.0, -0.5] + generator.standard_normal(30)
    part = Part(x, y, MLP(2, (), bias=False), Gaussian((0.25, 0.25)), 2.0, 0.25, 2.0)  # a precision of 1 for y / 2
    return part, generator.standard_normal((5, 2))


@pytest.mark.parametrize("sampler", ["hmc", pytest.param("nuts", marks=pytest.mark.slow)])
def test_samplers_draw_the_exact_posterior_of_a_linear_model(sampler):
    part, inputs = linear()
    truth = exact(part._replace(noise_precision=1.0), seed=0)
    if sampler == "hmc":
        values = drawn_by_hmc(part, inputs, 0, SHORT)
    else:
        values = drawn_by_nuts(part, inputs, 0, chains=2, warmup=200, draws=400)
    mean, sd = inputs @ truth.mean, np.sqrt(np.einsum("ni,ij,nj->n", inputs, truth.covariance, inputs))
    assert values.shape[2:] == (5, 1)
    np.testing.assert_allclose(values.mean((0, 1))[:, 0], mean, atol=0.15 * sd.min())
    np.testing.assert_allclose(values.std((0, 1))[:, 0], sd, rtol=0.12)


def chains(seed: int, shift: float = 0.0, scale: float = 1.0, apart: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = shift + scale * generator.standard_normal((16, 200, 10, 1))
    values[::2] += apart
    return values


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (chains(1), "agree"),
        (chains(1, shift=0.2), "unresolved"),
        (chains(1, scale=1.15), "unresolved"),
    ],
)
def test_agreement_finds_moments_that_differ_by_more_than_noise(other, verdict):
    assert agreement(chains(0), other).verdict == verdict


def test_agreement_reports_differences_in_standard_deviations():
    found = agreement(chains(0), chains(1, shift=0.5, scale=1.5))
    assert found.mean_difference == pytest.approx(0.5, abs=0.1)
    assert found.sd_difference == pytest.approx(0.5, abs=0.1)
    assert found.bound == pytest.approx(3.02, abs=0.01)  # two-sided, 0.05 / 20


def test_chains_in_two_modes_are_unresolved():
    found = agreement(chains(0, apart=1.0), chains(1, apart=1.0))
    assert found.r_hat > MAX_R_HAT
    assert found.verdict == "unresolved"


def test_model_without_noise_precision_predicts_the_noise():
    constant, predicted = (datasets.entry(name) for name in ("ref-gap-50", "ref-gap-50-predicted"))
    dataset = datasets.load(constant.name)
    rows = dataset.splits[0].train
    first, second = part_of(constant, dataset, rows), part_of(predicted, dataset, rows)
    assert (first.network.dim, second.network.dim) == (151, 202)
    assert (first.likelihood.kind, second.likelihood.kind) == ("gaussian", "heteroscedastic")
    assert second.hparams == {"prior_precision": predicted.model.prior_precision}
    np.testing.assert_array_equal(first.y, second.y)
