"""Wide ranges hold the papers' own."""

import pytest

import methods
from methods.likelihoods import Bernoulli, Gaussian
from methods.networks import MLP
from methods.problem import Task
from methods.spaces import WIDE, LogUniform, OneOf, widened


def test_the_usual_hyper_parameters_get_wide_ranges_and_others_stay():
    own = OneOf(0.1, 0.2)
    wide = widened({"lr": LogUniform(0.01, 0.02), "noise_precision": LogUniform(0.1, 10), "rate": own})
    assert wide == {"lr": WIDE["lr"], "noise_precision": LogUniform(0.01, 1000), "rate": own}


@pytest.mark.parametrize("likelihood", [Gaussian((0.1, 10.0)), Bernoulli()], ids=lambda one: one.kind)
@pytest.mark.parametrize("name", methods.names())
def test_every_methods_wide_space_has_its_hyper_parameters_and_more_room(name, likelihood):
    method = methods.get(name)
    task = Task("task", likelihood, MLP(3))
    usual, wide = method.search_space(task), method.wide_space(task)
    assert set(wide) == set(usual)
    for name, distribution in wide.items():
        low, high = extent(usual[name])
        assert extent(distribution)[0] <= low
        assert extent(distribution)[1] >= high


def extent(distribution) -> tuple[float, float]:
    if hasattr(distribution, "choices"):
        return min(distribution.choices), max(distribution.choices)
    return distribution.low, distribution.high
