"""Likelihoods against torch.distributions, in original units whatever units training uses."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad
from torch.distributions import Bernoulli as TorchBernoulli
from torch.distributions import Categorical as TorchCategorical
from torch.distributions import Normal, StudentT
from torch.func import grad, vmap

from lockstep_bench.methods.maths.likelihoods import (
    KINDS,
    MAX_LOG_VARIANCE,
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    StudentTNoise,
)
from lockstep_bench.methods.maths.noise import Noise

ALL = [Gaussian((0.01, 1.0)), HeteroscedasticGaussian(), StudentTNoise((0.01, 1.0)), Bernoulli(), Categorical(3)]
OF_REAL_NUMBERS, OF_CLASSES = ALL[:3], ALL[3:]
PRECISION, DF = torch.tensor([0.25, 5.5], dtype=torch.float64)
HPARAMS = SimpleNamespace(noise_precision=PRECISION, noise_df=DF)
Y_MEAN, Y_SCALE = torch.tensor([7.0, 3.0], dtype=torch.float64)

each = pytest.mark.parametrize("likelihood", ALL, ids=lambda one: one.kind)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def distribution(likelihood, outputs: torch.Tensor) -> torch.distributions.Distribution:
    """p(y | outputs) of the standardised target."""
    match likelihood:
        case Gaussian():
            return Normal(outputs[..., 0], HPARAMS.noise_precision**-0.5 / Y_SCALE)
        case HeteroscedasticGaussian():
            return Normal(outputs[..., 0], (0.5 * outputs[..., 1]).exp())
        case StudentTNoise():
            return StudentT(DF, outputs[..., 0], PRECISION**-0.5 / Y_SCALE)
        case Bernoulli():
            return TorchBernoulli(logits=outputs[..., 0])
        case Categorical():
            return TorchCategorical(logits=outputs)


def test_there_are_five_kinds_of_likelihood():
    assert tuple(one.kind for one in ALL) == KINDS


@each
def test_nll_equals_torch_distributions(likelihood):
    outputs = normal(6, likelihood.n_outputs)
    reference = distribution(likelihood, outputs)
    torch.manual_seed(0)
    y = reference.sample().double()
    torch.testing.assert_close(likelihood.nll(outputs, y, HPARAMS, Y_SCALE), -reference.log_prob(y).double())


@each
def test_drawn_targets_follow_the_distribution(likelihood):
    outputs = normal(1, likelihood.n_outputs).expand(200_000, -1)
    drawn = likelihood.draw(outputs, HPARAMS, Y_SCALE, Noise(normal(400_000, seed=1)))
    reference = distribution(likelihood, outputs[:1])
    if likelihood.standardises:
        assert drawn.mean().item() == pytest.approx(reference.mean.item(), abs=0.01)
        assert drawn.std().item() == pytest.approx(reference.stddev.item(), rel=0.01)
    else:
        classes = torch.arange(max(2, likelihood.n_outputs)).double()
        shares = (drawn[:, None] == classes).double().mean(0)
        torch.testing.assert_close(shares, reference.log_prob(classes).exp().double(), atol=0.005, rtol=0)


@each
def test_fisher_information_is_expected_gradient_outer_product(likelihood):
    outputs = normal(1, likelihood.n_outputs, seed=2)
    n = 400_000
    y = likelihood.draw(outputs.expand(n, -1), HPARAMS, Y_SCALE, Noise(normal(2 * n, seed=3)))

    def nll(one, target):
        return likelihood.nll(one[None], target[None], HPARAMS, Y_SCALE)[0]

    gradients = vmap(grad(nll), in_dims=(None, 0))(outputs[0], y)
    expected = gradients.T @ gradients / n
    found = likelihood.fisher(outputs, HPARAMS, Y_SCALE)[0]
    torch.testing.assert_close(found, expected, rtol=0.03, atol=0.03 * found.diagonal().max().item())


@each
def test_likelihood_scale_is_its_constant_fisher_information(likelihood):
    fisher = likelihood.fisher(normal(5, likelihood.n_outputs), HPARAMS, Y_SCALE)
    scale = likelihood.scale(HPARAMS, Y_SCALE)
    if likelihood.kind in ("gaussian", "student-t"):
        torch.testing.assert_close(fisher.flatten(), scale.expand(5))
    else:
        assert scale.item() == 1


@pytest.mark.parametrize("likelihood", OF_REAL_NUMBERS, ids=lambda one: one.kind)
def test_standardising_shifts_nll_by_log_scale(likelihood):
    outputs, y = normal(6, likelihood.n_outputs), normal(6, seed=1)
    nll = likelihood.nll(outputs, y, HPARAMS, Y_SCALE)
    predictive = likelihood.predictive(outputs[None], HPARAMS, Y_MEAN, Y_SCALE)
    if isinstance(likelihood, StudentTNoise):
        original = StudentT(*(part[0] for part in predictive))
    else:
        original = Normal(predictive.mean[0], predictive.variance[0].sqrt())
    torch.testing.assert_close(nll, -original.log_prob(Y_MEAN + Y_SCALE * y) - Y_SCALE.log())


@pytest.mark.parametrize("likelihood", OF_CLASSES, ids=lambda one: one.kind)
def test_class_probabilities_equal_torch_distributions(likelihood):
    outputs = normal(2, 5, likelihood.n_outputs)
    (log_probs,) = likelihood.predictive(outputs, HPARAMS, Y_MEAN, Y_SCALE)
    reference = distribution(likelihood, outputs)
    for number in range(log_probs.shape[-1]):
        y = torch.tensor(float(number), dtype=torch.float64)
        torch.testing.assert_close(log_probs[..., number], reference.log_prob(y))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2, 5, dtype=torch.float64))


@pytest.mark.parametrize("likelihood", OF_CLASSES, ids=lambda one: one.kind)
def test_confident_mistakes_have_finite_log_probabilities(likelihood):
    outputs = torch.full((1, 1, likelihood.n_outputs), -300.0)
    if likelihood.kind == "categorical":
        outputs[..., 1:] = 300.0
    (log_probs,) = likelihood.predictive(outputs, HPARAMS, Y_MEAN, Y_SCALE)
    assert log_probs.isfinite().all()
    assert log_probs.min() < -200


def test_predicted_noise_variance_is_clamped():
    outputs = torch.tensor([[[0.0, -1e6], [0.0, 1e6]]], dtype=torch.float64)
    (variance,) = HeteroscedasticGaussian().predictive(outputs, HPARAMS, Y_MEAN, Y_SCALE).variance
    bounds = torch.tensor([-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE], dtype=torch.float64).exp()
    torch.testing.assert_close(variance, Y_SCALE**2 * bounds)


@pytest.mark.parametrize("df", [2.1, 4.0, 50.0])
def test_student_t_nll_equals_scipy_in_original_units(df):
    hparams, y = SimpleNamespace(noise_precision=PRECISION, noise_df=torch.tensor(df).double()), normal(9, seed=1) * 20
    nll = StudentTNoise((0.01, 1.0)).nll(normal(9, 1), y, hparams, Y_SCALE)
    location = Y_MEAN + Y_SCALE * normal(9, 1)[:, 0]
    exact = -stats.t.logpdf(Y_MEAN + Y_SCALE * y, df, location, PRECISION**-0.5)
    np.testing.assert_allclose(nll + Y_SCALE.log(), exact, atol=1e-7)


def test_student_t_noise_with_many_degrees_is_gaussian():
    outputs, y = normal(9, 1), normal(9, seed=1)
    many = SimpleNamespace(noise_precision=PRECISION, noise_df=torch.tensor(1e7).double())
    student, gaussian = (each((0.01, 1.0)) for each in (StudentTNoise, Gaussian))
    ours, theirs = (each.nll(outputs, y, many, Y_SCALE) for each in (student, gaussian))
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    draws = [each.draw(outputs, many, Y_SCALE, Noise(normal(18, seed=2))) for each in (student, gaussian)]
    torch.testing.assert_close(*draws, atol=1e-5, rtol=0)


@pytest.mark.parametrize("df", [2.1, 4.0, 50.0])
def test_drawn_student_t_noise_follows_scipys_distribution(df):
    hparams, n = SimpleNamespace(noise_precision=PRECISION, noise_df=torch.tensor(df).double()), 50_000
    drawn = StudentTNoise((0.01, 1.0)).draw(torch.zeros(n, 1), hparams, Y_SCALE, Noise(normal(2 * n, seed=4)))
    assert stats.kstest(drawn, stats.t(df, scale=float(PRECISION**-0.5 / Y_SCALE)).cdf).pvalue > 0.01


@pytest.mark.parametrize("df", [2.1, 4.0, 50.0])
def test_student_t_fisher_information_is_integrated_squared_score(df):
    hparams, likelihood = SimpleNamespace(noise_precision=PRECISION, noise_df=torch.tensor(df).double()), ALL[2]
    exact, zero = stats.t(df, scale=float(PRECISION**-0.5 / Y_SCALE)), torch.zeros(1, 1, dtype=torch.float64)

    def integrand(y: float) -> float:
        score = grad(lambda out: likelihood.nll(out, torch.tensor([y]).double(), hparams, Y_SCALE)[0])(zero)
        return float(score.square()) * exact.pdf(y)

    integral = sum(quad(integrand, *ends, epsabs=1e-7)[0] for ends in ((-np.inf, -1), (-1, 1), (1, np.inf)))
    assert likelihood.fisher(zero, hparams, Y_SCALE).item() == pytest.approx(integral, rel=1e-5)


def test_student_t_gradient_falls_far_from_the_target():
    slopes = grad(lambda y: ALL[2].nll(torch.zeros(3, 1).double(), y, HPARAMS, Y_SCALE).sum())
    near, far, farthest = slopes(torch.tensor([1.0, 100.0, 10_000.0]).double())
    assert near > 10 * far > 100 * farthest > 0
