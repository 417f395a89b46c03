"""Likelihoods against torch.distributions, in original units whatever units training uses."""

from types import SimpleNamespace

import pytest
import torch
from torch.distributions import Bernoulli as TorchBernoulli
from torch.distributions import Categorical as TorchCategorical
from torch.distributions import Normal
from torch.func import grad, vmap

from lockstep_bench.methods.maths.likelihoods import (
    KINDS,
    MAX_LOG_VARIANCE,
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
)
from lockstep_bench.methods.maths.noise import Noise

ALL = [Gaussian((0.01, 1.0)), HeteroscedasticGaussian(), Bernoulli(), Categorical(3)]
HPARAMS = SimpleNamespace(noise_precision=torch.tensor(0.25, dtype=torch.float64))
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
        case Bernoulli():
            return TorchBernoulli(logits=outputs[..., 0])
        case Categorical():
            return TorchCategorical(logits=outputs)


def test_likelihoods_are_of_four_kinds():
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
    drawn = likelihood.draw(outputs, HPARAMS, Y_SCALE, Noise(normal(200_000, seed=1)))
    reference = distribution(likelihood, outputs[:1])
    if likelihood.standardises:
        assert drawn.mean().item() == pytest.approx(reference.mean.item(), abs=0.01)
        assert drawn.std().item() == pytest.approx(reference.stddev.item(), rel=0.01)
    else:
        classes = torch.arange(max(2, likelihood.n_outputs)).double()
        shares = (drawn[:, None] == classes).double().mean(0)
        torch.testing.assert_close(shares, reference.log_prob(classes).exp().double(), atol=0.005, rtol=0)


@each
def test_fisher_is_expected_gradient_outer_product(likelihood):
    outputs = normal(1, likelihood.n_outputs, seed=2)
    n = 400_000
    y = likelihood.draw(outputs.expand(n, -1), HPARAMS, Y_SCALE, Noise(normal(n, seed=3)))

    def nll(one, target):
        return likelihood.nll(one[None], target[None], HPARAMS, Y_SCALE)[0]

    gradients = vmap(grad(nll), in_dims=(None, 0))(outputs[0], y)
    expected = gradients.T @ gradients / n
    found = likelihood.fisher(outputs, HPARAMS, Y_SCALE)[0]
    torch.testing.assert_close(found, expected, rtol=0.03, atol=0.03 * found.diagonal().max().item())


@each
def test_scale_is_the_constant_fisher_information(likelihood):
    fisher = likelihood.fisher(normal(5, likelihood.n_outputs), HPARAMS, Y_SCALE)
    scale = likelihood.scale(HPARAMS, Y_SCALE)
    if likelihood.kind == "gaussian":
        torch.testing.assert_close(fisher.flatten(), scale.expand(5))
    else:
        assert scale.item() == 1


@pytest.mark.parametrize("likelihood", ALL[:2], ids=lambda one: one.kind)
def test_standardising_shifts_nll_by_log_scale(likelihood):
    outputs, y = normal(6, likelihood.n_outputs), normal(6, seed=1)
    nll = likelihood.nll(outputs, y, HPARAMS, Y_SCALE)
    predictive = likelihood.predictive(outputs[None], HPARAMS, Y_MEAN, Y_SCALE)
    original = Normal(predictive.mean[0], predictive.variance[0].sqrt())
    torch.testing.assert_close(nll, -original.log_prob(Y_MEAN + Y_SCALE * y) - Y_SCALE.log())


@pytest.mark.parametrize("likelihood", ALL[2:], ids=lambda one: one.kind)
def test_class_probabilities_equal_torch_distributions(likelihood):
    outputs = normal(2, 5, likelihood.n_outputs)
    (log_probs,) = likelihood.predictive(outputs, HPARAMS, Y_MEAN, Y_SCALE)
    reference = distribution(likelihood, outputs)
    for number in range(log_probs.shape[-1]):
        y = torch.tensor(float(number), dtype=torch.float64)
        torch.testing.assert_close(log_probs[..., number], reference.log_prob(y))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2, 5, dtype=torch.float64))


@pytest.mark.parametrize("likelihood", ALL[2:], ids=lambda one: one.kind)
def test_confident_mistakes_have_finite_log_probabilities(likelihood):
    outputs = torch.full((1, 1, likelihood.n_outputs), -300.0)
    if likelihood.kind == "categorical":
        outputs[..., 1:] = 300.0
    (log_probs,) = likelihood.predictive(outputs, HPARAMS, Y_MEAN, Y_SCALE)
    assert log_probs.isfinite().all()
    assert log_probs.min() < -200


def test_predicted_variance_is_clamped():
    outputs = torch.tensor([[[0.0, -1e6], [0.0, 1e6]]], dtype=torch.float64)
    (variance,) = HeteroscedasticGaussian().predictive(outputs, HPARAMS, Y_MEAN, Y_SCALE).variance
    bounds = torch.tensor([-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE], dtype=torch.float64).exp()
    torch.testing.assert_close(variance, Y_SCALE**2 * bounds)
