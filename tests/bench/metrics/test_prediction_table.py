"""Predictives that are stored and read again are equal to single precision."""

import numpy as np
import pytest
import torch

from lockstep_bench.bench.metrics.prediction_table import predictions_table, predictive_of
from lockstep_bench.methods.maths.predictive import Classes, Histogram, NormalMixtures, Normals, Quantiles, StudentT

PREDICTIVES = {
    "normals": Normals(torch.randn(4, 6), torch.rand(4, 6) + 0.1),
    "student t": StudentT(torch.rand(4, 6) + 3, torch.randn(4, 6), torch.rand(4, 6) + 0.1),
    "mixtures": NormalMixtures(torch.randn(4, 6, 3).log_softmax(-1), torch.randn(4, 6, 3), torch.rand(4, 6, 3) + 0.1),
    "quantiles": Quantiles.of(torch.tensor([0.1, 0.5, 0.9]), torch.randn(6, 3).sort(1).values),
    "histogram": Histogram.of(torch.tensor([-9.0, -1.0, 0.0, 9.0]), torch.rand(6, 3).softmax(1)),
    "classes": Classes(torch.randn(4, 6, 3).log_softmax(-1)),
}


@pytest.mark.parametrize("predictive", PREDICTIVES.values(), ids=PREDICTIVES)
def test_a_stored_predictive_can_be_read_again(predictive):
    y = torch.tensor([0.0, 1, 2, 0, 1, 2])
    again, targets, ood = predictive_of(predictions_table(predictive, np.arange(6), y))
    assert type(again) is type(predictive)
    assert ood is None
    assert targets.tolist() == y.tolist()
    for part, other in zip(predictive, again, strict=True):
        torch.testing.assert_close(other.double(), part.double(), rtol=1e-6, atol=1e-6)


def test_ood_predictions_are_read_separately():
    inside, outside = Classes(torch.randn(4, 6, 3).log_softmax(-1)), Classes(torch.randn(4, 2, 3).log_softmax(-1))
    again, targets, ood = predictive_of(predictions_table(inside, np.arange(6), torch.zeros(6), outside))
    torch.testing.assert_close(again.log_probs, inside.log_probs)
    torch.testing.assert_close(ood.log_probs, outside.log_probs)
    assert len(targets) == 6
