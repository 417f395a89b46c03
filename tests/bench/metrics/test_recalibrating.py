"""Recalibration by one number: the best factor in closed form, and distributions stretched about their mean."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import regression
from lockstep_bench.bench.metrics.recalibrating import best_factor, recalibrated
from lockstep_bench.methods.maths.predictive import (
    Classes,
    Histogram,
    NormalMixtures,
    Normals,
    Quantiles,
    StudentT,
)

N = 40


def drawn(rng, *shape):
    return torch.tensor(rng.normal(size=shape))


def positive(rng, *shape):
    return torch.tensor(rng.uniform(0.5, 2, size=shape))


OF_ALL = np.random.default_rng(3)
PREDICTIVES = {
    "normals": Normals(drawn(OF_ALL, 3, N), positive(OF_ALL, 3, N)),
    "normal mixtures": NormalMixtures(
        torch.log_softmax(drawn(OF_ALL, 2, N, 3), -1), drawn(OF_ALL, 2, N, 3), positive(OF_ALL, 2, N, 3)
    ),
    "Student's t": StudentT(3 + positive(OF_ALL, 2, N), drawn(OF_ALL, 2, N), positive(OF_ALL, 2, N)),
    "quantiles": Quantiles.of(torch.tensor([0.1, 0.4, 0.8]), torch.cumsum(positive(OF_ALL, N, 3), 1)),
    "histogram": Histogram.of(torch.linspace(-4, 4, 6), torch.softmax(drawn(OF_ALL, N, 5), 1)),
}


def test_best_factor_of_normals_is_the_rms_of_standardised_residuals(rng):
    folds = [(Normals(drawn(rng, 1, n), positive(rng, 1, n)), 3 * drawn(rng, n)) for n in (30, 50)]
    z = torch.cat([(y - normal.mean[0]) / normal.variance[0].sqrt() for normal, y in folds])
    assert best_factor(folds) == pytest.approx(z.square().mean().sqrt().item(), rel=1e-6)


@pytest.mark.parametrize("kind", PREDICTIVES)
def test_stretched_density_is_that_of_an_affine_map(kind, rng):
    predictive, factor = PREDICTIVES[kind], 1.7
    mean, y = regression.moments(predictive).mean, 0.3 * drawn(rng, N)
    direct = metrics.log_density(recalibrated(predictive, factor), y)
    mapped = metrics.log_density(predictive, mean + (y - mean) / factor) - np.log(factor)
    assert torch.allclose(direct, mapped, atol=1e-10)


@pytest.mark.parametrize("kind", PREDICTIVES)
def test_stretching_keeps_the_mean_and_multiplies_the_sd(kind):
    before = regression.moments(PREDICTIVES[kind])
    after = regression.moments(recalibrated(PREDICTIVES[kind], 0.6))
    assert torch.allclose(after.mean, before.mean)
    assert torch.allclose(after.variance, 0.36 * before.variance)


@pytest.mark.parametrize("kind", ["normals", "normal mixtures", "Student's t"])
def test_factor_undoes_a_change_of_scale(kind, rng):
    y = 2 * drawn(rng, N)
    best = best_factor([(PREDICTIVES[kind], y)])
    too_wide = recalibrated(PREDICTIVES[kind], 5.0)
    assert best_factor([(too_wide, y)]) == pytest.approx(best / 5, rel=1e-5)


def test_no_other_factor_has_a_lower_nmll(rng):
    predictive, y = PREDICTIVES["normals"], 2 * drawn(rng, N)
    best = best_factor([(predictive, y)])
    scores = [metrics.nmll(recalibrated(predictive, best * change), y) for change in (0.999, 1, 1.001)]
    assert scores[1] < min(scores[0], scores[2])


def test_temperature_is_the_root_of_the_derivative(rng):
    log_probs = torch.log_softmax(4 * drawn(rng, 3, N, 4), -1)
    pooled = np.log(np.exp(log_probs.numpy()).mean(0))
    # Drawn from flattened probabilities: with labels that have nothing to do with them, the best can be infinite.
    labels = torch.tensor((pooled / 2 + rng.gumbel(size=pooled.shape)).argmax(1)).double()

    def slope(inverse):
        """Return the derivative of the log-likelihood by 1/T: sum_i log p_i(y_i) - E[log p_i] under the tempered p."""
        tempered = np.exp(inverse * pooled)
        tempered /= tempered.sum(1, keepdims=True)
        return (pooled[np.arange(N), labels.long().numpy()] - (tempered * pooled).sum(1)).sum()

    expected = 1 / brentq(slope, 1e-4, 10, xtol=1e-12)
    assert best_factor([(Classes(log_probs), labels)]) == pytest.approx(expected, rel=1e-5)


def test_tempered_probabilities_are_powers_of_the_average(rng):
    log_probs = torch.log_softmax(drawn(rng, 3, N, 4), -1)
    powers = log_probs.exp().mean(0).sqrt()
    tempered = recalibrated(Classes(log_probs), 2.0)
    assert torch.allclose(tempered.log_probs[0].exp(), powers / powers.sum(1, keepdim=True))
