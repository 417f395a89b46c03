"""Every column that is measured has a heading and a direction."""

import pytest

from leaderboards.metrics import HEADLINE, MEASURED, metric


@pytest.mark.parametrize("name", MEASURED)
def test_every_column_has_a_heading_and_a_meaning(name):
    assert metric(name).title != name
    assert metric(name).meaning


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("nmll_moment_standardised", "low"),
        ("rmse", "low"),
        ("ece", "low"),
        ("predict_seconds_per_1000", "low"),
        ("peak_memory_mib", "low"),
        ("accuracy", "high"),
        ("ood_auroc", "high"),
        ("coverage_95", 0.95),
        ("n_parameters", None),
        ("something_new", None),
    ],
)
def test_directions(name, goal):
    assert metric(name).goal == goal


def test_the_headline_is_measured():
    assert set(HEADLINE) <= set(MEASURED)
