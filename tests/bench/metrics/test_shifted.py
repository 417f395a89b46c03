"""Quality under shift: the metrics of the unshifted test part, for every shift and severity."""

import math

import pytest
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics.shifted import corrupted_means, elsewhere, scores, table
from lockstep_bench.datasets.images.shifts import SHIFTS as BY_NAME
from lockstep_bench.methods.maths.predictive import Classes
from lockstep_bench.shared.schema import CORRUPTED, ELSEWHERE, SHIFTS

Y = torch.arange(40) % 4


def predictive(seed: int) -> Classes:
    generator = torch.Generator().manual_seed(seed)
    return Classes((2 * torch.randn(3, 40, 4, generator=generator)).log_softmax(-1))


def test_shifted_scores_equal_the_usual_test_metrics():
    one = predictive(0)
    whole = metrics.evaluate(one, Y, 1.0)
    found = scores(one, Y)
    assert found == {name: whole[name] for name in found}


def test_class_of_probability_zero_has_a_finite_nll():
    sure = Classes(torch.tensor([[[0.0, -1000.0]]]))
    assert scores(sure, torch.tensor([1]))["nmll"] == 1000


def test_table_starts_unshifted_then_lists_every_shift():
    shifted = [(BY_NAME["fog"], 3, predictive(1)), (BY_NAME["rotation"], 15, predictive(2))]
    found = table(predictive(0), iter(shifted), Y)
    assert found.schema == SHIFTS
    keys = [(row["family"], row["shift"], row["severity"]) for row in found.to_pylist()]
    assert keys == [(None, None, 0), ("corruption", "fog", 3), ("rotation", "rotation", 15)]
    assert found["accuracy"].to_pylist() == [scores(predictive(seed), Y)["accuracy"] for seed in range(3)]


def test_shift_columns_average_only_over_corruptions():
    shifted = [(BY_NAME["fog"], 1, 1), (BY_NAME["snow"], 5, 2), (BY_NAME["rotation"], 180, 3)]
    found = corrupted_means(table(predictive(0), ((one, level, predictive(seed)) for one, level, seed in shifted), Y))
    assert found.keys() == CORRUPTED.keys()
    both = [scores(predictive(seed), Y) for seed in (1, 2)]
    for name, value in found.items():
        assert value == pytest.approx(sum(one[name.removeprefix("corrupted_")] for one in both) / 2, rel=1e-12)
        assert math.isfinite(value)


def test_images_from_another_source_are_scored_as_test_images():
    one = predictive(0)
    whole = metrics.evaluate(one, Y, 1.0)
    assert elsewhere(one, Y) == {name: whole[name.removeprefix("elsewhere_")] for name in ELSEWHERE}


def test_no_corruptions_give_no_shift_columns():
    assert corrupted_means(table(predictive(0), [], Y)) == {}
