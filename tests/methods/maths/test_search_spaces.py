"""Ranges that replace those of the papers."""

import pytest

from lockstep_bench import methods
from lockstep_bench.methods.maths.likelihoods import Bernoulli, Gaussian
from lockstep_bench.methods.maths.search_spaces import WIDE, LogUniform, OneOf, for_images, widened
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import preresnet_20
from lockstep_bench.methods.problem import Task


def test_wide_search_space_changes_only_shared_hyper_parameters():
    rate = OneOf(0.1, 0.2)
    wide = widened({"lr": LogUniform(0.01, 0.02), "noise_precision": LogUniform(0.1, 10), "rate": rate})
    assert wide == {"lr": WIDE["lr"], "noise_precision": LogUniform(0.01, 1000), "rate": rate}


def test_pretrained_networks_get_smaller_learning_rates():
    space = {"lr": LogUniform(0.1, 0.2), "prior_precision": LogUniform(1, 2), "rate": OneOf(0.1)}
    # The VIFA paper, section 4.3.1.
    paper = {"lr": LogUniform(1e-6, 5e-4), "prior_precision": LogUniform(0.01, 10), "rate": OneOf(0.1)}
    assert for_images(space, pretrained=True) == paper
    assert for_images(space, pretrained=False)["lr"].low > 1e-6
    random, trained = (Task("task", Bernoulli(), preresnet_20(), pretrained=trained) for trained in (False, True))
    for name in ("map", "vifa", "swag", "mc-dropout", "online-em-fa"):
        method = methods.get(name)
        assert method.image_space(trained)["lr"].high < method.image_space(random)["lr"].high


@pytest.mark.parametrize("likelihood", [Gaussian((0.1, 10.0)), Bernoulli()], ids=lambda one: one.kind)
@pytest.mark.parametrize("name", methods.names())
def test_wide_search_space_contains_every_papers_range(name, likelihood):
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
