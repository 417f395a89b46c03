"""The weight of the divergence at chosen updates."""

import pytest
import torch

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.problem import Step
from lockstep_bench.methods.training.annealing import Annealing, weight


def test_kl_weight_grows_linearly_from_zero_to_one():
    annealing = Annealing.over(Plan(n_updates=4000, updates_per_epoch=20.0))  # the paper's 200 epochs
    counts = [1.0, 2000.0, 2001.0, 2250.0, 3000.0, 4000.0]
    found = [weight(Step(torch.tensor(count), annealing)).item() for count in counts]
    assert found == pytest.approx([0, 0, 1 / 1000, 1 / 4, 1, 1])


@pytest.mark.parametrize(
    ("plan", "expected"),
    [(Plan(4000, 20.0), (2000, 1000)), (Plan(8000, 20.0), (2000, 1000)), (Plan(400, 20.0), (200, 100))],
    ids=["200 epochs", "400 epochs", "20 epochs"],
)
def test_annealing_shortens_with_shorter_training(plan, expected):
    assert Annealing.over(plan) == expected
