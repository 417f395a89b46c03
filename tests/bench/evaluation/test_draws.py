"""Functions drawn from a fit, and the noise around them."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.evaluation.draws import means, noise_variance
from lockstep_bench.bench.metrics.regression import moments
from lockstep_bench.methods.maths.predictive import NormalMixtures, Normals, Quantiles


def test_mean_of_a_sample_is_that_of_its_distribution():
    mean = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (means(Normals(mean, torch.ones(2, 2))) == mean.numpy()).all()
    weights = torch.tensor([0.25, 0.75]).log().expand(1, 2, 2)
    locations = torch.tensor([[[0.0, 4.0], [2.0, 2.0]]])
    assert means(NormalMixtures(weights, locations, torch.ones(1, 2, 2))) == pytest.approx(np.array([[3.0, 2.0]]))
    levels = torch.linspace(0.05, 0.95, 19)
    symmetric = Quantiles.of(levels, torch.stack([levels, levels + 1]))
    assert means(symmetric) == pytest.approx(np.array([[0.5, 1.5]]))


@pytest.mark.parametrize("mixed", [False, True])
def test_variance_is_that_of_functions_and_of_noise(mixed):
    generator = torch.Generator().manual_seed(0)
    mean, variance = torch.randn(5, 4, 2, generator=generator), torch.rand(5, 4, 2, generator=generator) + 0.1
    weights = torch.rand(5, 4, 2, generator=generator).log_softmax(dim=2)
    predictive = NormalMixtures(weights, mean, variance) if mixed else Normals(mean[..., 0], variance[..., 0])
    total = means(predictive).astype(float).var(axis=0) + noise_variance(predictive)
    assert total == pytest.approx(moments(predictive).variance.numpy(), rel=1e-5)
